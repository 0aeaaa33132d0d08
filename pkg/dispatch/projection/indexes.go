package projection

import (
	"fmt"
	"strconv"
	"strings"
)

// interval is a range of indexes, including both ends.
type interval struct{ first, last int64 }

// intervals are sorted ranges of indexes that do not overlap.
type intervals []interval

// parseIndexes parses a list such as "0-2,5" from completedIndexes or failedIndexes. It accepts
// only what the server accepts for some number of completions (kubernetes: validateIndexesFormat,
// which is not exported).
func parseIndexes(text string) (intervals, error) {
	if text == "" {
		return nil, nil
	}
	var parsed intervals
	previous := int64(-1)
	for fragment := range strings.SplitSeq(text, ",") {
		run, err := parseInterval(fragment)
		if err != nil {
			return nil, err
		}
		if run.first <= previous {
			return nil, fmt.Errorf("%q comes after %d", fragment, previous)
		}
		previous = run.last
		parsed = append(parsed, run)
	}
	return parsed, nil
}

func parseInterval(fragment string) (interval, error) {
	first, last, isRun := strings.Cut(fragment, "-")
	from, err := strconv.ParseUint(first, 10, 31)
	if err != nil {
		return interval{}, fmt.Errorf("%q is not an index", fragment)
	}
	if !isRun {
		return interval{int64(from), int64(from)}, nil
	}
	to, err := strconv.ParseUint(last, 10, 31)
	if err != nil || to <= from {
		return interval{}, fmt.Errorf("%q is not a range of indexes", fragment)
	}
	return interval{int64(from), int64(to)}, nil
}

// below returns the indexes below a limit.
func (in intervals) below(limit int32) intervals {
	var out intervals
	for _, run := range in {
		if run.last = min(run.last, int64(limit)-1); run.first <= run.last {
			out = append(out, run)
		}
	}
	return out
}

// without returns the indexes that are not in others.
func (in intervals) without(others intervals) intervals {
	var out intervals
	for _, run := range in {
		for len(others) > 0 && others[0].last < run.first {
			others = others[1:]
		}
		for _, other := range others {
			if other.first > run.last {
				break
			}
			if run.first < other.first {
				out = append(out, interval{run.first, other.first - 1})
			}
			run.first = other.last + 1
		}
		if run.first <= run.last {
			out = append(out, run)
		}
	}
	return out
}

// count returns the number of indexes.
func (in intervals) count() int32 {
	var n int64
	for _, run := range in {
		n += run.last - run.first + 1
	}
	return int32(min(n, 1<<31-1))
}

// String formats indexes as the Job controller does: two neighbours as two numbers, more as a
// range (kubernetes: orderedIntervals in pkg/controller/job).
func (in intervals) String() string {
	var fragments []string
	for _, run := range in.merged() {
		fragment := strconv.FormatInt(run.first, 10)
		switch run.last - run.first {
		case 0:
		case 1:
			fragment += "," + strconv.FormatInt(run.last, 10)
		default:
			fragment += "-" + strconv.FormatInt(run.last, 10)
		}
		fragments = append(fragments, fragment)
	}
	return strings.Join(fragments, ",")
}

// merged merges adjacent ranges.
func (in intervals) merged() intervals {
	var out intervals
	for _, run := range in {
		if n := len(out); n > 0 && out[n-1].last+1 == run.first {
			out[n-1].last = run.last
			continue
		}
		out = append(out, run)
	}
	return out
}
