// Package chart turns what a page has to show into echarts options, as plain
// JSON data: no inline script, which the content security policy forbids, and
// no JavaScript functions, which JSON can't hold. It is the only package that
// imports go-echarts.
package chart

import (
	"maps"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/types"

	"github.com/stepscope/stepscope/views/i18n"
)

// Series colours, from the colour-blind-safe set of Okabe and Ito. A meaning
// has one colour on every page; web/static/css/tokens.css has the same ones.
const (
	ColorCompute = "#0072b2" // blue
	ColorComm    = "#d55e00" // vermilion
	ColorCopy    = "#e69f00" // orange
	ColorIdle    = "#999999" // grey
	ColorReplay  = "#009e73" // bluish green
	ColorMiss    = "#d55e00" // vermilion
	ColorPartial = "#e69f00" // orange
	ColorNone    = "#56b4e9" // sky blue
)

// Options is an echarts option object as encoding/json prints it: keys sorted,
// so the same input gives the same bytes.
type Options map[string]any

// series names one series of a skeleton. ID is what the browser's script finds
// it by; the name is for the reader. Symbols differ so that points can be told
// apart without colour.
type series struct{ id, name, color, symbol string }

// Steps is the chart of the steps: one stacked bar a step, times in
// milliseconds. Its series are empty; the browser fills xAxis[0].data and
// series[0..3].data in the order compute, comm, copy, idle.
func Steps(l i18n.Lang) Options {
	bar := charts.NewBar()
	bar.SetXAxis([]string{})
	bar.SetGlobalOptions(
		charts.WithXAxisOpts(opts.XAxis{Type: "category", Name: l.T("chart.axis_step"), NameLocation: "middle", NameGap: 26}),
		charts.WithYAxisOpts(opts.YAxis{Type: "value", Name: l.T("chart.axis_time"), NameLocation: "middle", NameGap: 32}),
		charts.WithTooltipOpts(opts.Tooltip{Trigger: "axis", AxisPointer: &opts.AxisPointer{Type: "shadow"}}),
	)
	all := []series{
		{"compute", l.T("chart.compute"), ColorCompute, ""},
		{"comm", l.T("chart.comm"), ColorComm, ""},
		{"copy", l.T("chart.copy"), ColorCopy, ""},
		{"idle", l.T("chart.idle"), ColorIdle, ""},
	}
	for _, s := range all {
		bar.AddSeries(s.name, []opts.BarData{},
			charts.WithBarChartOpts(opts.BarChart{Stack: "gpu", BarCategoryGap: "20%"}),
			charts.WithItemStyleOpts(opts.ItemStyle{Color: s.color}))
	}
	bar.Validate()
	return finish(bar.JSON(), all, types.ChartBar)
}

// Shapes is the scatter of GPU span, in milliseconds, over the step's query
// tokens B. Its series are empty; the browser fills series[0..3].data in the
// order replay, miss, partial, none with points [b, ms, n, name].
func Shapes(l i18n.Lang) Options {
	sc := charts.NewScatter()
	sc.SetGlobalOptions(
		charts.WithXAxisOpts(opts.XAxis{Type: "value", Name: l.T("chart.axis_b"), NameLocation: "middle", NameGap: 26, Min: 0}),
		charts.WithYAxisOpts(opts.YAxis{Type: "value", Name: l.T("chart.axis_span"), NameLocation: "middle", NameGap: 32, Min: 0}),
		charts.WithTooltipOpts(opts.Tooltip{Trigger: "item"}),
	)
	all := []series{
		{"replay", l.T("chart.graph_replay"), ColorReplay, "circle"},
		{"miss", l.T("chart.graph_miss"), ColorMiss, "triangle"},
		{"partial", l.T("chart.graph_partial"), ColorPartial, "diamond"},
		{"none", l.T("chart.graph_none"), ColorNone, "rect"},
	}
	for _, s := range all {
		sc.AddSeries(s.name, []opts.ScatterData{}, charts.WithItemStyleOpts(opts.ItemStyle{Color: s.color, Opacity: opts.Float(0.8)}))
	}
	sc.Validate()
	return finish(sc.JSON(), all, types.ChartScatter)
}

// finish settles what go-echarts has no field for or fills with its own
// defaults: series ids, empty data as [], the grid, and no title, toolbox or
// animation. The legend's place is explicit because echarts 6 moved its default.
func finish(o map[string]any, all []series, typ string) Options {
	list := make([]map[string]any, len(all))
	for i, got := range o["series"].(charts.MultiSeries) {
		list[i] = map[string]any{
			"id":        all[i].id,
			"name":      got.Name,
			"type":      typ,
			"itemStyle": got.ItemStyle,
			"data":      []any{},
		}
		if got.Stack != "" {
			list[i]["stack"] = got.Stack
			list[i]["barCategoryGap"] = got.BarCategoryGap
		}
		if all[i].symbol != "" {
			list[i]["symbol"] = all[i].symbol
			list[i]["symbolSize"] = 8
		}
	}
	out := Options(maps.Clone(o))
	out["series"] = list
	out["animation"] = false
	out["legend"] = map[string]any{"show": true, "top": 0, "right": 0, "itemWidth": 12, "itemHeight": 10}
	out["grid"] = map[string]any{"left": 24, "right": 8, "top": 32, "bottom": 28, "containLabel": true}
	// The default palette would colour a fifth series; there is none.
	delete(out, "color")
	delete(out, "title")
	delete(out, "toolbox")
	return out
}
