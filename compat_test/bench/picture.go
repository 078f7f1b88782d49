//go:build linux

package main

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// A group is one way of running flock, with a bar for each locker.
type group struct {
	name string
	bars []bar
}

// A bar is one locker: value is its time divided by that of util-linux.
type bar struct {
	name  string
	value float64
}

// draw returns a bar chart in SVG of the groups, with a line at 1, which is util-linux. Bars are cut off at 2.7. The
// directory lock has no bar: it is for where there is no other, and the tables have its times.
func draw(groups []group) string {
	const (
		wide, gap = 24, 20    // of a bar, and between groups
		least     = 76        // width of a group, for its name
		unit      = 100       // height of 1
		top, left = 40, 50    // of the bars' area
		most      = 2.7       // the highest bar
		bottom    = top + 270 // where the bars stand
	)
	colours := []string{"#0b7285", "#868e96", "#f08c00", "#5c940d", "#862e9c", "#c92a2a", "#1864ab", "#a61e4d"}
	var names []string
	var b strings.Builder
	x := left + gap/2
	for _, g := range groups {
		bars := slices.DeleteFunc(slices.Clone(g.bars), func(b bar) bool {
			return b.name == reference || b.name == directory || b.value > 10
		})
		start, width := x, max(len(bars)*wide, least)
		x += (width - len(bars)*wide) / 2
		for _, bar := range bars {
			i := slices.Index(names, bar.name)
			if i < 0 {
				i = len(names)
				names = append(names, bar.name)
			}
			height := min(bar.value, most) * unit
			fmt.Fprintf(&b, `<rect x="%d" y="%.0f" width="%d" height="%.0f" fill="%s"/>`+"\n",
				x, bottom-height, wide-2, height, colours[i%len(colours)])
			fmt.Fprintf(&b, `<text x="%d" y="%.0f" class="n">%.2f</text>`+"\n", x+wide/2-1, bottom-height-4, bar.value)
			x += wide
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" class="g">%s</text>`+"\n",
			start+width/2, bottom+18, html.EscapeString(g.name))
		x = start + width + gap
	}
	right := x - gap/2
	fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#212529"/>`+"\n", left, bottom, right, bottom)
	fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#212529" stroke-dasharray="6 4"/>`+"\n",
		left, bottom-unit, right, bottom-unit)
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">1</text><text x="%d" y="%d">util-linux</text>`+"\n",
		left-6, bottom-unit+4, left+4, bottom-unit-6)
	y := bottom + 44
	for i, name := range names {
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n",
			left+i%3*220, y+i/3*20, colours[i%len(colours)], left+18+i%3*220, y+10+i/3*20, html.EscapeString(name))
	}
	height := y + (len(names)+2)/3*20 + 10
	width := max(right+10, left+3*220)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" `+
		`font-family="sans-serif" font-size="12">
<style>.n{font-size:9px;text-anchor:middle}.g{text-anchor:middle;font-weight:bold}</style>
<rect width="100%%" height="100%%" fill="white"/>
<text x="%d" y="22" font-size="14">Time of a whole run beside util-linux (line at 1): less is faster</text>
%s</svg>
`, width, height, left, b.String())
}
