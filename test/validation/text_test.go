package validation

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// list formats indexes like a Job's status. It is not the projection's own code.
func list(indexes map[int]bool) string {
	var runs []string
	sorted := slices.Sorted(maps.Keys(indexes))
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n] == sorted[n-1]+1 {
			n++
		}
		switch n {
		case 1, 2:
			n = 1
			runs = append(runs, strconv.Itoa(sorted[0]))
		default:
			runs = append(runs, strconv.Itoa(sorted[0])+"-"+strconv.Itoa(sorted[n-1]))
		}
		sorted = sorted[n:]
	}
	return strings.Join(runs, ",")
}

// describe formats a status or another value in one line.
func describe(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
