package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

func TestDraw(t *testing.T) {
	screen := []line{
		{{"NAME     <&\"'>", style{bold: true}}},
		nil,
		{{"│  ├─ ", style{dim: true}}, {"a b  c", style{color: 2}}},
		{{"└─ 作業  x", style{}}},
	}
	svg := draw("a <title>", screen, 20)
	golden.Assert(t, string(svg), "draw.svg")
	for decoder := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		assert.NilError(t, err)
	}
}

// TestColorContrast checks the contrast of the colours, which has to be 4.5 for text (WCAG 2.1,
// 1.4.3).
func TestColorContrast(t *testing.T) {
	for _, c := range append([]string{foreground, faint}, colors[:]...) {
		if got := (luminance(t, c) + 0.05) / (luminance(t, background) + 0.05); got < 4.5 {
			t.Errorf("%s on %s has a contrast of %.1f", c, background, got)
		}
	}
}

// luminance returns the relative luminance of a colour, as defined in WCAG 2.1.
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(color[1+2*i:3+2*i], 16, 8)
		assert.NilError(t, err)
		c := float64(n) / 255
		if c <= 0.03928 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}
