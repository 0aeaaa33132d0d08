package printers

import (
	"encoding/csv"
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
		full := &inspect.HistorySum{WaitMedianSeconds: &n, WaitP90Seconds: &n, RunMedianSeconds: &n, ResourceHours: hours}
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
	for i := range list.Groups {
		if err := writeLines(w, absentIfEmpty(Safe(list.Groups[i].Group))); err != nil {
			return err
		}
	}
	if list.By != "" {
		return nil
	}
	for i := range list.Items {
		j := &list.Items[i]
		if err := writeLines(w, resourceName(&inspect.Job{APIVersion: j.APIVersion, Kind: j.Kind, Name: j.Name})); err != nil {
			return err
		}
	}
	return nil
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
			strconv.Itoa(s.Runs), numberCSV(s.RunMedianSeconds), strconv.FormatInt(s.Evictions, 10), strconv.FormatInt(s.LostSeconds, 10),
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
