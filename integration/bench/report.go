package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// median of figures, of which there is at least one.
func median(figures []float64) float64 { return percentile(figures, 50) }

func percentile(figures []float64, p int) float64 {
	if len(figures) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[(len(sorted)-1)*p/100]
}

// table is printed as Markdown, to be read in a terminal and kept in a document.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer, title string) {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	line := func(row []string) {
		for i := range widths {
			cell := ""
			if i < len(row) {
				cell = row[i]
			}
			fmt.Fprintf(w, "| %s%s ", cell, strings.Repeat(" ", widths[i]-len([]rune(cell))))
		}
		fmt.Fprintln(w, "|")
	}
	fmt.Fprintf(w, "\n%s\n\n", title)
	line(t.head)
	rule := make([]string, len(widths))
	for i := range rule {
		rule[i] = strings.Repeat("-", widths[i])
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
}

// verdict compares a figure with the most that it should be.
func verdict(figure, most float64) string {
	if figure <= most {
		return "met"
	}
	return "missed"
}

func number(f float64) string {
	switch {
	case math.IsNaN(f):
		return "-"
	case f >= 1000:
		return fmt.Sprintf("%.0f", f)
	case f >= 100:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}
