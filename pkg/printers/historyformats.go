package printers

import (
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// CSV is the output format of history for spreadsheets.
const CSV = "csv"

// NewHistorySorters returns sorters for finished Jobs and for groups of them, from a JSONPath
// expression. Only the one that hasGroups selects uses the expression.
func NewHistorySorters(expression string, hasGroups bool) (jobs *SorterOf[inspect.PastJob], groups *SorterOf[inspect.HistorySum], err error) {
	n, count, t := int64(1), int32(1), metav1.NewTime(time.Unix(1, 0))
	hours := map[string]float64{"cpu": 1, "memory": 1, "nvidia.com/gpu": 1}
	if hasGroups {
		full := &inspect.HistorySum{WaitMedianSeconds: &n, WaitP90Seconds: &n, RunMedianSeconds: &n, Evictions: &n, LostSeconds: &n, ResourceHours: hours}
		groups, err = newSorter(expression, full, "groups have no such number or text. Use .jobs, .failed, .waitMedianSeconds, .waitP90Seconds or .lostSeconds")
		return &SorterOf[inspect.PastJob]{}, groups, err
	}
	full := &inspect.PastJob{
		Cluster: new(string), AdmittedAt: &t, FinishedAt: &t, WaitSeconds: &n, RunSeconds: &n, Evictions: &count, LostSeconds: &n, ResourceHours: hours,
	}
	jobs, err = newSorter(expression, full, "Jobs have no such number, text or time. Use .finishedAt, .waitSeconds, .runSeconds, .lostSeconds or .name")
	return jobs, &SorterOf[inspect.HistorySum]{}, err
}

// PrintPast writes finished Jobs, or groups of them, one after the other, in a format that
// IsPerJob.
func (f *Format) PrintPast(w io.Writer, list *inspect.HistoryList) error {
	if f.name != "name" {
		if list.By != "" {
			return printColumns(f, w, pointers(list.Groups))
		}
		return printColumns(f, w, pointers(list.Items))
	}
	if list.By != "" {
		return printNames(w, pointers(list.Groups), func(g *inspect.HistorySum) namedObject { return namedObject{name: g.Group} })
	}
	return printNames(w, pointers(list.Items), func(j *inspect.PastJob) namedObject {
		return namedObject{j.Context, j.Namespace, j.UID, groupKind(j.APIVersion, j.Kind), j.Name}
	})
}

// HistoryCSV writes a line for each Job or each group, with times in RFC 3339 and durations in
// seconds. Unknown values are empty.
func HistoryCSV(w io.Writer, list *inspect.HistoryList, noHeaders bool) error {
	out := csv.NewWriter(w)
	titles, rows := pastCSV(list)
	if list.By != "" {
		titles, rows = groupsCSV(list)
	}
	if !noHeaders {
		rows = append([][]string{titles}, rows...)
	}
	for _, row := range rows {
		for i := range row {
			row[i] = Safe(row[i])
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func pastCSV(list *inspect.HistoryList) (titles []string, rows [][]string) {
	names := map[string]bool{}
	for i := range list.Items {
		for name := range list.Items[i].Resources {
			names[name] = true
		}
	}
	resources := slices.SortedFunc(maps.Keys(names), byWorth)
	titles = []string{"context", "namespace", "kind", "name", "managedBy", "queue", "clusterQueue", "cluster", "createdAt", "admittedAt", "finishedAt", "waitSeconds", "runSeconds", "evictions", "lostSeconds", "result", "reason"}
	for _, name := range resources {
		titles = append(titles, name, name+" hours")
	}
	for i := range list.Items {
		j := &list.Items[i]
		cluster := ""
		if j.Cluster != nil {
			cluster = *j.Cluster
		}
		evictions := ""
		if j.Evictions != nil {
			evictions = strconv.Itoa(int(*j.Evictions))
		}
		row := []string{
			j.Context, j.Namespace, j.Kind, j.Name, string(j.ManagedBy), j.Queue, j.ClusterQueue, cluster, timeCSV(&j.CreatedAt), timeCSV(j.AdmittedAt), timeCSV(j.FinishedAt),
			numberCSV(j.WaitSeconds), numberCSV(j.RunSeconds), evictions, numberCSV(j.LostSeconds), string(j.Result), j.Reason,
		}
		for _, name := range resources {
			row = append(row, j.Resources[name], hoursCSV(j.ResourceHours, name))
		}
		rows = append(rows, row)
	}
	return titles, rows
}

func groupsCSV(list *inspect.HistoryList) (titles []string, rows [][]string) {
	resources := slices.SortedFunc(maps.Keys(list.Total.ResourceHours), byWorth)
	titles = []string{list.By, "jobs", "failed", "deleted", "waits", "waitMedianSeconds", "waitP90Seconds", "runs", "runMedianSeconds", "evictions", "lostSeconds", "clusters", "measured"}
	for _, name := range resources {
		titles = append(titles, name+" hours")
	}
	for i := range list.Groups {
		s := &list.Groups[i]
		row := []string{
			s.Group, strconv.Itoa(s.Jobs), strconv.Itoa(s.Failed), strconv.Itoa(s.Deleted), strconv.Itoa(s.Waits), numberCSV(s.WaitMedianSeconds), numberCSV(s.WaitP90Seconds),
			strconv.Itoa(s.Runs), numberCSV(s.RunMedianSeconds), numberCSV(s.Evictions), numberCSV(s.LostSeconds),
			strings.Join(s.Clusters, " "), strconv.Itoa(s.Measured),
		}
		for _, name := range resources {
			row = append(row, hoursCSV(s.ResourceHours, name))
		}
		rows = append(rows, row)
	}
	return titles, rows
}

func timeCSV(t *metav1.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func numberCSV(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func hoursCSV(hours map[string]float64, name string) string {
	n, isKnown := hours[name]
	if !isKnown {
		return ""
	}
	return strconv.FormatFloat(n, 'f', 4, 64)
}

// SVG is the output format of pictures that tickets and pages can show.
const SVG = "svg"

// The size of a picture, and its margins, in pixels.
const (
	svgWidth, svgHeight                  = 800, 320
	svgLeft, svgRight, svgTop, svgBottom = 70, 20, 50, 60
)

// HistorySVG draws how long Jobs waited against the time at which they were admitted: one mark
// per Job, whose shape is its result, so that it is readable without colour. The picture refers
// to no other file.
func HistorySVG(w io.Writer, list *inspect.HistoryList, o TableOptions) error {
	var from, to time.Time
	most, drawn := int64(1), 0
	for i := range list.Items {
		j := &list.Items[i]
		if !isDrawn(j) {
			continue
		}
		drawn++
		at := j.AdmittedAt.Time
		if from.IsZero() || at.Before(from) {
			from = at
		}
		if at.After(to) {
			to = at
		}
		most = max(most, *j.WaitSeconds)
	}
	var b strings.Builder
	title := strings.Join(HistorySummary(list, o), ". ")
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12">`+"\n", svgWidth, svgHeight, svgWidth, svgHeight)
	fmt.Fprintf(&b, "<title>%s</title>\n", xmlText(title))
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	svgLabel(&b, svgLeft, 20, "start", "How long Jobs waited, by the time of their admission")
	svgLabel(&b, svgLeft, 38, "start", legend(list, drawn))
	s := scale{from: from, span: max(to.Sub(from), time.Second), most: most}
	s.axes(&b, to, drawn)
	for i := range list.Items {
		if j := &list.Items[i]; isDrawn(j) {
			x, y := s.at(j.AdmittedAt.Time, *j.WaitSeconds)
			fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="#000" stroke-width="1.5"><title>%s</title></path>`+"\n", mark(j.Result, x, y), xmlText(markTitle(j)))
		}
	}
	b.WriteString("</svg>\n")
	return writeAll(w, b.String())
}

// isDrawn reports whether a Job has a place in the picture.
func isDrawn(j *inspect.PastJob) bool { return j.AdmittedAt != nil && j.WaitSeconds != nil }

// legend explains the shapes, and counts the Jobs that are not drawn.
func legend(list *inspect.HistoryList, drawn int) string {
	text := "○ Complete   × Failed   □ Deleted   △ Unknown"
	if left := len(list.Items) - drawn; left > 0 {
		text += fmt.Sprintf("   (%s without a known wait not drawn)", inspect.Count(left, "Job"))
	}
	return text
}

// scale converts times and waits to positions.
type scale struct {
	from time.Time
	span time.Duration
	most int64
}

func (s scale) at(t time.Time, wait int64) (x, y float64) {
	x = svgLeft + float64(t.Sub(s.from))/float64(s.span)*(svgWidth-svgLeft-svgRight)
	y = svgHeight - svgBottom - float64(wait)/float64(s.most)*(svgHeight-svgTop-svgBottom)
	return x, y
}

// axes draws the left and the lower axis, with the first and the last time, and waits.
func (s scale) axes(b *strings.Builder, to time.Time, drawn int) {
	const bottom, right = svgHeight - svgBottom, svgWidth - svgRight
	fmt.Fprintf(b, `<path d="M%d %dV%dH%d" fill="none" stroke="#000"/>`+"\n", svgLeft, svgTop, bottom, right)
	if drawn == 0 {
		return
	}
	for _, part := range []int64{0, 1, 2} {
		wait := s.most * part / 2
		_, y := s.at(s.from, wait)
		svgLabel(b, svgLeft-6, int(y)+4, "end", humanSeconds(wait))
	}
	svgLabel(b, svgLeft, bottom+20, "start", s.from.UTC().Format(time.RFC3339))
	svgLabel(b, right, bottom+20, "end", to.UTC().Format(time.RFC3339))
}

// mark returns the path of a result's shape.
func mark(r inspect.Result, x, y float64) string {
	switch r {
	case inspect.ResultComplete:
		return fmt.Sprintf("M%.1f %.1fa4 4 0 1 0 8 0a4 4 0 1 0 -8 0", x-4, y)
	case inspect.ResultFailed:
		return fmt.Sprintf("M%.1f %.1fl8 8m0 -8l-8 8", x-4, y-4)
	case inspect.ResultDeleted:
		return fmt.Sprintf("M%.1f %.1fh8v8h-8z", x-4, y-4)
	case inspect.ResultUnknown:
	}
	return fmt.Sprintf("M%.1f %.1fl4 8h-8z", x, y-4)
}

func markTitle(j *inspect.PastJob) string {
	text := fmt.Sprintf("%s/%s: %s, waited %s", j.Namespace, j.Name, j.Result, seconds(j.WaitSeconds))
	if j.Cluster != nil && *j.Cluster != "" {
		text += ", on " + *j.Cluster
	}
	return text
}

func svgLabel(b *strings.Builder, x, y int, anchor, text string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="%s">%s</text>`+"\n", x, y, anchor, xmlText(text))
}

// xmlText escapes a text for XML.
func xmlText(text string) string {
	var b strings.Builder
	// A strings.Builder never fails.
	_ = xml.EscapeText(&b, []byte(Safe(text)))
	return b.String()
}
