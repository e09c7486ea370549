package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// samples are the values of one quantity, by program.
type samples map[*program][]float64

func (s samples) add(p *program, v float64) { s[p] = append(s[p], v) }

// median is that of the values of p; NaN when there are none, or when one is: a
// quantity that this platform does not tell, or that the program does not have.
func (s samples) median(p *program) float64 {
	v := slices.Clone(s[p])
	if p == nil || len(v) == 0 || slices.ContainsFunc(v, math.IsNaN) {
		return math.NaN()
	}
	slices.Sort(v)
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// figure is one line of the table: a quantity of each program.
type figure struct {
	name, unit            string
	ours, floor, original float64
	aim                   string // what ours should be; "" without an aim
	met                   bool
}

// figure makes a line of the medians of s.
func (b *bench) figure(name, unit string, floor *program, s samples) figure {
	return figure{
		name: name, unit: unit,
		ours: s.median(b.ours), floor: s.median(floor), original: s.median(b.original),
	}
}

// times sets the aim that ours is at most limit times the floor.
func (f figure) times(limit float64) figure {
	f.aim, f.met = fmt.Sprintf("aim %.1fx", limit), f.ours <= limit*f.floor
	return f
}

// below sets the aim that ours stays below limit.
func (f figure) below(limit float64) figure {
	f.aim, f.met = fmt.Sprintf("aim %g %s", limit, f.unit), f.ours < limit
	return f
}

// verdict says whether the aim is met.
func (f figure) verdict() string {
	switch {
	case f.aim == "":
		return ""
	case math.IsNaN(f.ours):
		return f.aim + ": not measured here"
	case f.met:
		return f.aim + ": met"
	}
	return f.aim + ": MISSED"
}

// write lays the figures out as a table.
func write(w io.Writer, figures []figure, original bool) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	head, third := "\tserver\tfloor\tratio\t", ""
	if original {
		head += "original\tratio\t"
	}
	fmt.Fprintln(tw, head)
	for _, f := range figures {
		if original {
			third = show(f.original, f.unit) + "\t" + show(f.original/f.floor, "x") + "\t"
		}
		fmt.Fprintf(tw, "%-28s\t%s\t%s\t%s\t%s%s\t\n",
			f.name, show(f.ours, f.unit), show(f.floor, f.unit), show(f.ours/f.floor, "x"), third, f.verdict())
	}
	return tw.Flush()
}

// show prints three or four digits, which is more than is stable from run to run.
func show(v float64, unit string) string {
	switch {
	case math.IsNaN(v):
		return "n/a"
	case v >= 1000:
		return fmt.Sprintf("%.0f %s", v, unit)
	}
	return fmt.Sprintf("%.2f %s", v, unit)
}
