package compare

import (
	"fmt"
	"time"
)

// meansOnly says that a column was read as means.
func meansOnly(width int64) *Reason {
	w := Stretch(width)
	return why(MeansOnly, "read as means of "+w, "按 "+w+" 的均值读取",
		"This time has too many lines to read them one by one: it is compared as means of "+w+". Lines of captures and of windows still filling are in them, and metrics in which 0 stands for nothing, such as times to first token, are left out. A shorter time is compared line by line.",
		"该时段的日志过多，无法逐条读取，改按 "+w+" 的均值比较：抓取期间与窗口未满时的日志也在其中；0 表示“没有”的指标（如首 token 延迟）不予比较。缩短时段即可逐条比较。")
}

// coarsest is the length of the longest means that were read instead of lines; 0: there are none.
func (b *builder) coarsest() (width int64) {
	for _, v := range b.views {
		width = max(width, v.Coarse)
	}
	return width
}

// Stretch writes a length of time in days, hours or minutes, whichever is whole.
func Stretch(ns int64) string {
	switch d := time.Duration(ns); {
	case d >= 24*time.Hour && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	default:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
}
