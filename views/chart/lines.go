package chart

import (
	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/types"

	"github.com/stepscope/stepscope/views/i18n"
)

// Lines is the chart of a metric over time or steps, without its lines: the
// script adds them, the unit, and over steps the other axis's name. Values of
// 0 are in sight only where they are close: an axis from 0 would flatten most
// metrics.
func Lines(l i18n.Lang) Options {
	line := charts.NewLine()
	line.SetGlobalOptions(
		charts.WithXAxisOpts(opts.XAxis{Type: "time", Name: l.T("chart.axis_clock"), NameLocation: "middle", NameGap: 22}),
		charts.WithYAxisOpts(opts.YAxis{Type: "value", NameLocation: "middle", NameGap: 52, Scale: opts.Bool(true)}),
		charts.WithTooltipOpts(opts.Tooltip{Trigger: "axis", AxisPointer: &opts.AxisPointer{Type: "line"}}),
	)
	line.Validate()
	o := finish(line.JSON(), nil, types.ChartLine)
	o["legend"] = map[string]any{"show": false} // the page has its own, which can be read aloud
	o["stepName"] = l.T("chart.axis_steps")
	// Fixed on all sides, so that the charts of a page stand exactly below each other;
	// at the right half of the last label, "11:59:05", has room.
	o["grid"] = map[string]any{"left": 70, "right": 28, "top": 10, "bottom": 40, "outerBoundsMode": "none"}
	return o
}

// Multiples is the chart of one row of a comparison, of one column's curve: the
// script repeats it for each column, side by side and on one scale, and adds the
// curves.
func Multiples(l i18n.Lang) Options {
	line := charts.NewLine()
	line.SetGlobalOptions(
		charts.WithXAxisOpts(opts.XAxis{Type: "time", SplitNumber: 3}),
		charts.WithYAxisOpts(opts.YAxis{Type: "value", NameLocation: "end", NameGap: 5}),
		charts.WithTooltipOpts(opts.Tooltip{Trigger: "axis", AxisPointer: &opts.AxisPointer{Type: "line"}}),
	)
	line.Validate()
	o := finish(line.JSON(), nil, types.ChartLine)
	o["legend"] = map[string]any{"show": false} // each curve has its column's letter and name above it
	o["grid"] = map[string]any{"left": 48, "right": 30, "top": 20, "bottom": 22, "outerBoundsMode": "none"}
	// The pointer stands at the same place in all columns.
	o["axisPointer"] = map[string]any{"link": []any{map[string]any{"xAxisIndex": "all"}}}
	o["stepName"] = l.T("chart.axis_steps")
	return o
}
