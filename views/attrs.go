package views

import "github.com/a-h/templ"

// fixedUnit is the unit of a column that always has the same one; the script
// picks one for times when it knows the figures.
func fixedUnit(c Column) string {
	if c.Type == "ppm" || c.Type == "rel" {
		return "%"
	}
	return ""
}

// headerAttrs marks the column a table starts sorted by, and those that share
// a unit.
func headerAttrs(c Column) templ.Attributes {
	a := templ.Attributes{}
	if c.Sort != "" {
		a["data-default"] = c.Sort
	}
	if c.Unit != "" {
		a["data-unit-group"] = c.Unit
	}
	return a
}
