package delegation

import "fmt"

// RestartFields lists where an object of a kind shows that its controller restarts it as a whole after a failure.
type RestartFields struct {
	// Now are the indicators of an object that is restarting.
	Now []Indicator
	// Counts are the paths, through lists, of numbers of restarts, which add up. Limited are those of the numbers that
	// count towards the limit; nil if all do.
	Counts, Limited [][]string
	// Limit is the path of the number of restarts that the spec allows; nil if it has none.
	Limit []string
}

// Restarts is how often the controller of a kind has restarted a whole object after failures.
type Restarts struct {
	// Now is whether the object is restarting.
	Now bool
	// Why is the reason of the failure before a restart that has not finished, "" if unknown.
	Why string
	// Count is how often it was restarted, 0 if that is unknown. Ignored is how many of these restarts do not count
	// towards the limit.
	Count, Ignored int64
	// Limit is how often it may be restarted, nil if unknown. LimitField is the name of the field with the limit.
	Limit      *int64
	LimitField string
}

// Restarts returns the restarts of an object, nil if it was never restarted.
func (k Kind) Restarts(s State) *Restarts {
	at := k.Indicators.Restarts
	r := &Restarts{Now: shows(at.Now, s), Count: sumAt(s, at.Counts)}
	if at.Limited != nil {
		r.Ignored = max(0, r.Count-sumAt(s, at.Limited))
	}
	if !r.Now && r.Count == 0 {
		return nil
	}
	if r.Now {
		r.Why = k.explain(s, at.Now)
	}
	if len(at.Limit) > 0 {
		for _, value := range At(s.Content, at.Limit...) {
			if n, ok := number(value); ok {
				limit := int64(n)
				r.Limit, r.LimitField = &limit, at.Limit[len(at.Limit)-1]
			}
		}
	}
	return r
}

// sumAt adds up the numbers at some paths.
func sumAt(s State, paths [][]string) (sum int64) {
	for _, path := range paths {
		for _, value := range At(s.Content, path...) {
			n, _ := number(value)
			sum += int64(n)
		}
	}
	return sum
}

// String describes the restarts as a clause without a subject.
func (r *Restarts) String() string {
	limit := ""
	if r.Limit != nil {
		limit = fmt.Sprintf("; %s is %d", r.LimitField, *r.Limit)
		if r.Ignored > 0 {
			limit += fmt.Sprintf(", towards which %d count", r.Count-r.Ignored)
		}
	}
	times := "once"
	if r.Count > 1 {
		times = fmt.Sprintf("%d times", r.Count)
	}
	if !r.Now {
		return "restarted " + times + limit
	}
	text := "is restarting"
	if r.Count > 0 {
		text += fmt.Sprintf(" (%s so far%s)", times, limit)
	}
	if r.Why != "" {
		text += ": " + r.Why
	}
	return text
}

// usualRestarts is how many restarts a Job allows that sets no limit (kubernetes: batch/v1, backoffLimit).
const usualRestarts = 6

// IsLate reports whether the object has used up at least half of its restarts.
func (r *Restarts) IsLate() bool {
	limit := int64(usualRestarts)
	if r.Limit != nil {
		limit = *r.Limit
	}
	return 2*(r.Count-r.Ignored) >= max(1, limit)
}
