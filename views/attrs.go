package views

import "github.com/a-h/templ"

// fixedUnit is the unit of a column that always has the same one; the script
// picks one for times when it knows the figures.
func fixedUnit(c Column) string {
	if c.Type == "ppm" {
		return "%"
	}
	return ""
}

// sortedFirst marks the column a table starts sorted by.
func sortedFirst(c Column) templ.Attributes {
	if c.Sort == "" {
		return nil
	}
	return templ.Attributes{"data-default": c.Sort}
}
