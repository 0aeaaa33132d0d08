// Package figures stores the results of benchmarks with their goals, and makes a page of them.
package figures

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Figure is the result of one measurement.
type Figure struct {
	// What is the name of the measurement, and Value the result in words.
	What, Value string
	// Baseline is the measurement that it was compared to, in the same run, with that result in
	// words; "" if it was not compared.
	Baseline string
	// Is is the number for the goal, in Unit: a ratio, or a single figure.
	Is   float64
	Unit string
	// Goal is the maximum of Is or, if AtLeast is set, the minimum; 0 if there is none.
	Goal    float64
	AtLeast bool
	// Why is the reason for a goal that is not met.
	Why string
}

// Met reports whether the goal is met.
func (f Figure) Met() bool {
	return f.Goal == 0 || f.AtLeast && f.Is >= f.Goal || !f.AtLeast && f.Is <= f.Goal
}

func (f Figure) goal() string {
	switch {
	case f.Goal == 0:
		return "-"
	case f.AtLeast:
		return fmt.Sprintf("at least %.4g %s", f.Goal, f.Unit)
	}
	return fmt.Sprintf("at most %.4g %s", f.Goal, f.Unit)
}

// result returns the number in its unit. A negative "more" is a positive "less".
func (f Figure) result() string {
	if unit, isMore := strings.CutSuffix(f.Unit, " more"); isMore && f.Is < 0 {
		return fmt.Sprintf("%.3g %s less", -f.Is, unit)
	}
	return fmt.Sprintf("%.3g %s", f.Is, f.Unit)
}

// Section has the results of one benchmark.
type Section struct {
	Title string
	// How describes how it was measured, in a sentence.
	How     string
	Machine string
	At      time.Time
	Figures []Figure
}

// Missed returns the goals of a section that are not met, in words.
func (s *Section) Missed() []string {
	var missed []string
	for _, f := range s.Figures {
		if !f.Met() {
			missed = append(missed, fmt.Sprintf("%s: %.3g %s, %s", f.What, f.Is, f.Unit, f.goal()))
		}
	}
	return missed
}

// Save stores a section in a file, and then returns an error if a goal is not met.
func Save(file string, s Section) error {
	s.Machine, s.At = machine(), time.Now().UTC()
	if file != "" {
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	if missed := s.Missed(); len(missed) > 0 {
		return fmt.Errorf("goals that are not met:\n  %s", strings.Join(missed, "\n  "))
	}
	return nil
}

// marker precedes the section of each benchmark on the page, with its name.
const marker = "\n<!-- benchmark: "

// Page writes head, the first result of each section, and the sections of the named benchmarks to a file. The
// figures of a benchmark are in NAME.json in dir. A benchmark without that file keeps the section that the page
// has.
func Page(page, head, dir string, names []string) error {
	sections, err := readSections(page)
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name+".json"))
		switch {
		case err == nil:
			var s Section
			if err := json.Unmarshal(text, &s); err != nil {
				return err
			}
			var b strings.Builder
			s.write(&b)
			sections[name] = b.String()
		case !os.IsNotExist(err):
			return err
		}
	}
	var b strings.Builder
	b.WriteString(head + "\n| benchmark | first result | compared with |\n|---|---|---|\n")
	for _, name := range names {
		b.WriteString(firstResult(sections[name]))
	}
	for _, name := range names {
		if section := sections[name]; section != "" {
			fmt.Fprintf(&b, "%s%s -->\n%s", marker, name, section)
		}
	}
	return os.WriteFile(page, []byte(b.String()), 0o644)
}

// firstResult returns a row with the title of a section and its first figure; "" if it has none.
func firstResult(section string) string {
	title, rest, _ := strings.Cut(strings.TrimPrefix(section, "## "), "\n")
	_, rows, _ := strings.Cut(rest, "|---|---|---|---|---|---|\n")
	first, _, _ := strings.Cut(rows, "\n")
	cells := strings.Split(first, " | ")
	if len(cells) != columns {
		return ""
	}
	return fmt.Sprintf("| %s | %s: %s | %s |\n", title, strings.TrimPrefix(cells[0], "| "), cells[3], cells[2])
}

// columns is the number of columns of a section's table.
const columns = 6

// readSections returns the sections of a page by the names of their benchmarks.
func readSections(page string) (map[string]string, error) {
	text, err := os.ReadFile(page)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	sections := map[string]string{}
	for _, part := range strings.Split(string(text), marker)[1:] {
		name, section, _ := strings.Cut(part, " -->\n")
		sections[name] = section
	}
	return sections, nil
}

func (s *Section) write(b *strings.Builder) {
	fmt.Fprintf(b, "## %s\n\n%s Measured at %s on %s.\n\n", s.Title, s.How, s.At.Format("2006-01-02 15:04 MST"), s.Machine)
	b.WriteString("| what | measured | compared with, in the same run | result | goal | met |\n|---|---|---|---|---|---|\n")
	for _, f := range s.Figures {
		met := "yes"
		if !f.Met() {
			met = "**no**"
		} else if f.Goal == 0 {
			met = "-"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", f.What, f.Value, orNone(f.Baseline), f.result(), f.goal(), met)
	}
	for _, f := range s.Figures {
		if !f.Met() && f.Why != "" {
			fmt.Fprintf(b, "\n%s: %s\n", f.What, f.Why)
		}
	}
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Median returns the median of some values.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
