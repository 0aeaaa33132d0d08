package main

import (
	"context"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// TestBrowser: a browser draws the picture of a Job's life on narrow and wide pages, light and
// dark: the green of its running bar is visible, on white.
func TestBrowser(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("no chromium or google-chrome is installed: only the XML of pictures is tested, not how a browser draws them")
	}
	svg, err := filepath.Abs("../../docs/pictures/timeline.svg")
	assert.NilError(t, err)
	for _, width := range []int{400, 1200} {
		for name, background := range map[string]string{"light": "#ffffff", "dark": "#0d1117"} {
			t.Run(fmt.Sprint(name, width), func(t *testing.T) {
				green, white := colorsOf(t, browser, svg, background, width)
				assert.Assert(t, green > width/2, "%d pixels are green", green)
				assert.Assert(t, white > 20*width, "%d pixels are white", white)
			})
		}
	}
}

// colorsOf returns the numbers of pixels in the green of running bars and in white, on a page of
// some width.
func colorsOf(t *testing.T, browser, svg, background string, width int) (green, white int) {
	t.Helper()
	dir := t.TempDir()
	page, shot := filepath.Join(dir, "page.html"), filepath.Join(dir, "shot.png")
	html := fmt.Sprintf(`<body style="margin:0;background:%s"><img src="file://%s" style="max-width:100%%"></body>`, background, svg)
	assert.NilError(t, os.WriteFile(page, []byte(html), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir="+dir,
		fmt.Sprintf("--window-size=%d,200", width), "--screenshot="+shot, "file://"+page).CombinedOutput()
	assert.NilError(t, err, "%s", out)
	file, err := os.Open(shot)
	assert.NilError(t, err)
	defer func() { assert.NilError(t, file.Close()) }()
	picture, err := png.Decode(file)
	assert.NilError(t, err)
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			r, g, b, _ := picture.At(x, y).RGBA()
			switch [3]uint32{r >> 8, g >> 8, b >> 8} {
			case [3]uint32{0x2d, 0xa4, 0x4e}:
				green++
			case [3]uint32{0xff, 0xff, 0xff}:
				white++
			}
		}
	}
	return green, white
}
