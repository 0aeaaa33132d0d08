// Package figures keeps what benchmarks have measured beside the goals for it, and makes a
// page of it.
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

// Figure is something that was measured.
type Figure struct {
	// What was measured, and Value in words.
	What, Value string
	// Beside is what it was measured beside, in the same run, and that in words; "" for
	// what stands by itself.
	Beside string
	// Is is what the goal is about, in Unit: a ratio, or a figure by itself.
	Is   float64
	Unit string
	// Goal is the most that Is may be, or, where AtLeast is set, the least; 0 where nobody
	// has set one.
	Goal    float64
	AtLeast bool
	// Why tells of a goal that is not met why it is not.
	Why string
}

// Met says whether the goal is met.
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

// Section is what one benchmark has measured.
type Section struct {
	Title string
	// How tells how it was measured, in a sentence.
	How     string
	Machine string
	At      time.Time
	Figures []Figure
}

// Missed are the goals of a section that are not met, in words.
func (s *Section) Missed() []string {
	var missed []string
	for _, f := range s.Figures {
		if !f.Met() {
			missed = append(missed, fmt.Sprintf("%s: %.3g %s, %s", f.What, f.Is, f.Unit, f.goal()))
		}
	}
	return missed
}

// Save keeps a section in a file, and fails where a goal is not met, after that.
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

// Page writes what is kept in files, those that are there, as a page.
func Page(page, head string, files []string) error {
	var b strings.Builder
	b.WriteString(head)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		var s Section
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			return err
		}
		s.write(&b)
	}
	return os.WriteFile(page, []byte(b.String()), 0o644)
}

func (s *Section) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s Measured at %s on %s.\n\n", s.Title, s.How, s.At.Format("2006-01-02 15:04 MST"), s.Machine)
	b.WriteString("| what | measured | beside, in the same run | is | goal | met |\n|---|---|---|---|---|---|\n")
	for _, f := range s.Figures {
		met := "yes"
		if !f.Met() {
			met = "**no**"
		} else if f.Goal == 0 {
			met = "-"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %.3g %s | %s | %s |\n", f.What, f.Value, orNone(f.Beside), f.Is, f.Unit, f.goal(), met)
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

// Median is the middle one of some values.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
