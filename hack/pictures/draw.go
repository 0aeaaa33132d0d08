package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Sizes, in tenths of a pixel, so that all numbers are whole.
const (
	cell     = 84
	row      = 190
	baseline = 140
	margin   = 160
)

// The colours of the panel behind the text. It is always dark, because a picture cannot know the
// colours around it.
const (
	background = "#0d1117"
	frame      = "#30363d"
	foreground = "#e6edf3"
	faint      = "#9198a1"
)

// colors are the terminal's 16 colours, the bright ones last. Black is a readable grey.
var colors = [16]string{
	"#8b949e", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#d0d7de",
	"#9198a1", "#ffa198", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
}

// draw returns an SVG of a screen. Each text has its position on the grid and its length, so that
// columns are aligned in any font. title is for screen readers.
func draw(title string, screen []line, columns int) []byte {
	width, height := 2*margin+columns*cell, 2*margin+len(screen)*row
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]s" height="%[2]s" viewBox="0 0 %[1]s %[2]s" role="img" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace" font-size="14">
`, pixels(width), pixels(height))
	fmt.Fprintf(&b, "<title>%s</title>\n", escape(title))
	fmt.Fprintf(&b, `<rect x="0.5" y="0.5" width="%s" height="%s" rx="6" fill="%s" stroke="%s"/>`+"\n",
		pixels(width-10), pixels(height-10), background, frame)
	for i, l := range screen {
		drawLine(&b, l, margin+i*row)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// pieces matches the parts of a text that are drawn as lines, and those drawn as letters. No part
// has two spaces in a row, because a viewer may not keep these.
var pieces = regexp.MustCompile(`[│├└─]+|[^│├└─ ]+(?: [^│├└─ ]+)*`)

// drawLine draws a line whose upper edge is at top.
func drawLine(b *bytes.Buffer, l line, top int) {
	column := 0
	for _, s := range l {
		for _, at := range pieces.FindAllStringIndex(s.text, -1) {
			piece, x := s.text[at[0]:at[1]], column+ansi.StringWidth(s.text[:at[0]])
			if strings.ContainsAny(piece, "│├└─") {
				drawTree(b, piece, x, top, s.style)
			} else {
				drawText(b, piece, x, top, s.style)
			}
		}
		column += ansi.StringWidth(s.text)
	}
}

func drawText(b *bytes.Buffer, text string, column, top int, s style) {
	weight := ""
	if s.bold {
		weight = ` font-weight="bold"`
	}
	fmt.Fprintf(b, `<text x="%s" y="%s" textLength="%s" fill="%s"%s>%s</text>`+"\n",
		pixels(margin+column*cell), pixels(top+baseline), pixels(ansi.StringWidth(text)*cell), s.fill(), weight, escape(text))
}

// drawTree draws the lines of a tree as paths, because letters would have gaps between the rows.
func drawTree(b *bytes.Buffer, tree string, column, top int, s style) {
	var path strings.Builder
	for i, r := range []rune(tree) {
		left := margin + (column+i)*cell
		middle, right, center, bottom := pixels(left+cell/2), pixels(left+cell), pixels(top+row/2), pixels(top+row)
		switch r {
		case '│':
			fmt.Fprintf(&path, "M%s %sV%s", middle, pixels(top), bottom)
		case '├':
			fmt.Fprintf(&path, "M%s %sV%sM%s %sH%s", middle, pixels(top), bottom, middle, center, right)
		case '└':
			fmt.Fprintf(&path, "M%s %sV%sH%s", middle, pixels(top), center, right)
		case '─':
			fmt.Fprintf(&path, "M%s %sH%s", pixels(left), center, right)
		}
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s"/>`+"\n", path.String(), s.fill())
}

// fill returns the colour of a style.
func (s style) fill() string {
	switch {
	case s.color > 0:
		return colors[s.color-1]
	case s.dim:
		return faint
	}
	return foreground
}

// pixels formats tenths of a pixel.
func pixels(tenths int) string {
	if tenths%10 == 0 {
		return fmt.Sprint(tenths / 10)
	}
	return fmt.Sprintf("%d.%d", tenths/10, tenths%10)
}

func escape(text string) string {
	var b bytes.Buffer
	// A buffer never fails.
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}
