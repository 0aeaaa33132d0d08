package fleet

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/glob"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// UnknownContextError means that the kubeconfig has no such context, or none that matches a
// pattern.
type UnknownContextError struct {
	// Pattern is the requested context or pattern. Nearest is the most similar context, or "".
	Pattern, Nearest string
	// Available are the existing contexts.
	Available []string
	// Where is the source that lacks the context; "" means the kubeconfig.
	Where string
	// IsCurrent is set if the user named no context: the kubeconfig has this one as its current context.
	// Kubeconfig is the file of --kubeconfig, "" without it.
	IsCurrent  bool
	Kubeconfig string
}

func (e *UnknownContextError) Error() string {
	where := cmp.Or(e.Where, "the kubeconfig")
	what := fmt.Sprintf("no context %q in %s", e.Pattern, where)
	switch {
	case e.IsCurrent:
		return e.ofCurrent()
	case isPattern(e.Pattern):
		what = fmt.Sprintf("no context in %s matches %q", where, e.Pattern)
	}
	return what + "; " + e.hint()
}

// ofCurrent returns the message about a missing current context.
func (e *UnknownContextError) ofCurrent() string {
	fix := command.Of("kubectl", "config", "use-context", cmp.Or(e.Nearest, "NAME"))
	if e.Kubeconfig != "" {
		fix = fix.With("--kubeconfig", e.Kubeconfig)
	}
	hint := e.hint()
	if e.Nearest == "" {
		hint += "."
	}
	return fmt.Sprintf("current context %q is not in the kubeconfig; %s Set another: %s", e.Pattern, hint, fix.Shell())
}

// hint names the most similar context, or some contexts.
func (e *UnknownContextError) hint() string {
	switch {
	case e.Nearest != "":
		return fmt.Sprintf("did you mean %q?", e.Nearest)
	case len(e.Available) == 0:
		return "it has no contexts"
	case len(e.Available) > 8:
		return fmt.Sprintf("it has %s and %d more", strings.Join(e.Available[:8], ", "), len(e.Available)-8)
	default:
		return "it has " + strings.Join(e.Available, ", ")
	}
}

// BadPatternError means that a pattern for contexts has a syntax error.
type BadPatternError struct {
	// Pattern is the pattern as messages show it.
	Pattern string
	Err     error
}

func (e *BadPatternError) Error() string {
	return fmt.Sprintf("context pattern %s: %v", e.Pattern, e.Err)
}

func (e *BadPatternError) Unwrap() error { return e.Err }

// Select returns the available context names that match patterns: names, globs, or regular
// expressions between slashes. A pattern after ^ excludes its matches. If all patterns do, they
// exclude from all names. Each may be a list with commas, unless it is the exact name of a
// context. The result is in the order of available, without repetitions.
//
// An exact name takes precedence, so that contexts whose names look like a pattern can be
// selected. A pattern without a match is an *UnknownContextError, even if it excludes, because it
// is most likely a typo. A pattern with a syntax error is a *BadPatternError.
func Select(patterns, available []string) ([]string, error) {
	patterns, err := split(patterns, available)
	if err != nil {
		return nil, err
	}
	chosen := map[string]bool{}
	onlyExcludes := !slices.ContainsFunc(patterns, func(p string) bool { return !strings.HasPrefix(p, "^") })
	if onlyExcludes {
		for _, name := range available {
			chosen[name] = true
		}
	}
	// Excludes are applied last, wherever they stand: "^a,*" and "*,^a" are the same.
	for _, exclude := range []bool{false, true} {
		for _, p := range patterns {
			rest, isExclude := strings.CutPrefix(p, "^")
			if isExclude != exclude {
				continue
			}
			matched, err := match(rest, available)
			if err != nil {
				return nil, err
			}
			for _, name := range matched {
				chosen[name] = !exclude
			}
		}
	}
	selected := slices.DeleteFunc(slices.Clone(available), func(name string) bool { return !chosen[name] })
	if len(selected) == 0 {
		return nil, fmt.Errorf("pattern %[2]q excludes every context: %[1]s", strings.Join(available, ", "), strings.Join(patterns, ","))
	}
	return selected, nil
}

// selectInOrder is Select with the result in the order of the patterns.
func selectInOrder(patterns, available []string) ([]string, error) {
	all, err := split(patterns, available)
	if err != nil {
		return nil, err
	}
	chosen, err := Select(all, available)
	if err != nil {
		return nil, err
	}
	var ordered []string
	for _, p := range all {
		if strings.HasPrefix(p, "^") {
			continue
		}
		matched, err := match(p, available)
		if err != nil {
			return nil, err
		}
		for _, name := range matched {
			if slices.Contains(chosen, name) && !slices.Contains(ordered, name) {
				ordered = append(ordered, name)
			}
		}
	}
	if len(ordered) == 0 {
		return chosen, nil // All patterns exclude.
	}
	return ordered, nil
}

// onePattern matches one pattern in a list with commas. A regular expression may contain commas.
var onePattern = regexp.MustCompile(`\s*\^?/[^/]*/\s*(?:,|$)|[^,]+`)

// split splits lists of patterns at their commas. It returns at least one pattern.
func split(patterns, available []string) ([]string, error) {
	var all []string
	for _, p := range patterns {
		// A context name may contain a comma, also after ^.
		if slices.Contains(available, strings.TrimPrefix(p, "^")) {
			all = append(all, p)
			continue
		}
		for _, part := range onePattern.FindAllString(p, -1) {
			if part = strings.Trim(part, ", "); part != "" {
				all = append(all, part)
			}
		}
	}
	if len(all) == 0 {
		return nil, &UnknownContextError{Available: available}
	}
	return all, nil
}

// match returns the available names that match a pattern, at least one.
func match(pattern string, available []string) ([]string, error) {
	if slices.Contains(available, pattern) {
		return []string{pattern}, nil
	}
	matches := func(string) (bool, error) { return false, nil }
	switch {
	case isRegexp(pattern):
		re, err := regexp.Compile(pattern[1 : len(pattern)-1])
		if err != nil {
			return nil, &BadPatternError{Pattern: pattern, Err: err}
		}
		matches = func(name string) (bool, error) { return re.MatchString(name), nil }
	case glob.IsPattern(pattern):
		matches = func(name string) (bool, error) { return glob.Match(pattern, name) }
	}
	var matched []string
	for _, name := range available {
		ok, err := matches(name)
		if err != nil {
			return nil, &BadPatternError{Pattern: strconv.Quote(pattern), Err: err}
		}
		if ok {
			matched = append(matched, name)
		}
	}
	if len(matched) == 0 {
		return nil, &UnknownContextError{Pattern: pattern, Nearest: Nearest(pattern, available), Available: available}
	}
	return matched, nil
}

func isRegexp(p string) bool {
	return len(p) > 2 && strings.HasPrefix(p, "/") && strings.HasSuffix(p, "/")
}

func isPattern(p string) bool { return isRegexp(p) || glob.IsPattern(p) }

// Nearest returns the candidate that is most similar to what was typed; "" if none is similar
// enough.
func Nearest(typed string, candidates []string) string {
	best, bestDistance := "", 1+max(1, len(typed)/3)
	for _, c := range candidates {
		if d := levenshtein.ComputeDistance(strings.ToLower(typed), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}
