package views

import "github.com/a-h/templ"

// sortedFirst marks the column a table starts sorted by.
func sortedFirst(c Column) templ.Attributes {
	if c.Sort == "" {
		return nil
	}
	return templ.Attributes{"data-default": c.Sort}
}
