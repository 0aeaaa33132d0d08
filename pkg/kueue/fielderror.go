package kueue

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// messageClause returns Kueue's message as a clause without the syntax of the API: field errors are
// translated, and "" means that the message adds nothing to the reason (kueue: pkg/workload,
// resources.go; pkg/dra, claims.go).
func messageClause(reason WaitReason, message string) string {
	hasFieldErrors := slices.Contains([]WaitReason{ReasonMisconfigured, ReasonDevicesUnresolved, ReasonInadmissible}, reason)
	switch {
	case reason == ReasonOnHold && message == "Job is on hold":
		return ""
	case hasFieldErrors:
		for _, prefix := range []string{"resources validation failed: ", "resources didn't satisfy LimitRange constraints: "} {
			message = strings.TrimPrefix(message, prefix)
		}
		return fieldErrors(message)
	}
	return message
}

// gateClause returns what gates an admission, "" if the message does not say that.
func gateClause(message string) string {
	if gates, ok := strings.CutPrefix(message, "Admission is gated by: "); ok {
		return "admission is gated by " + gates
	}
	if strings.Contains(message, "requires preemption, but it's gated") {
		return "waits for permission to preempt others"
	}
	return ""
}

// fieldError matches the text of one field error: a path, the kind of error, and what follows
// (apimachinery: field.Error).
var fieldError = regexp.MustCompile(`(?s)^([a-z]\w*(?:[.\[][\w.\[\]-]*)?): (Not found|Required value|Duplicate value|Invalid value|Unsupported value|Forbidden|Internal error|Too long|Too many|Too few|Too short)(?:: (.*))?$`)

// nextFieldError matches the separator of two errors in a list.
var nextFieldError = regexp.MustCompile(`, (spec\.[\w.\[\]-]+: [A-Z])`)

// fieldErrors describes a field error or a list of them. Another text stays unchanged.
func fieldErrors(message string) string {
	list := message
	if strings.HasPrefix(list, "[") && strings.HasSuffix(list, "]") {
		list = list[1 : len(list)-1]
	}
	var clauses []string
	for _, text := range strings.Split(nextFieldError.ReplaceAllString(list, "\x00$1"), "\x00") {
		match := fieldError.FindStringSubmatch(text)
		if match == nil {
			return message
		}
		if clause := fieldClause(match[1], match[2], match[3]); !slices.Contains(clauses, clause) {
			clauses = append(clauses, clause)
		}
	}
	return strings.Join(clauses, "; ")
}

// fieldClause describes a field error by its path, its kind, and what follows.
func fieldClause(path, kind, rest string) string {
	value, detail := "", rest
	if !slices.Contains([]string{"Required value", "Forbidden", "Internal error", "Too long", "Too short"}, kind) {
		value, detail = badValue(rest)
	}
	if verb, ok := requestFaults()[detail]; ok {
		return fmt.Sprintf(verb, requester(path), strings.NewReplacer(`"`, "", "[", "", "]", "", ",", ", ").Replace(value))
	}
	subject := podTemplate.ReplaceAllString(path, "")
	if value != "" && value != "null" {
		subject += " " + value
	}
	switch kind {
	case "Not found":
		subject += " does not exist"
	case "Required value":
		subject += " is required"
	case "Duplicate value":
		subject += " is a duplicate"
	case "Unsupported value":
		subject += " is not supported"
	case "Forbidden":
		subject += " is forbidden"
	case "Invalid value":
		subject += " is invalid"
	case "Internal error":
		subject += " failed"
	default:
		subject += " is " + strings.ToLower(kind)
	}
	if detail != "" {
		subject += ": " + detail
	}
	return subject
}

// badValue splits the value of a field error, which is JSON, from the detail behind it.
func badValue(text string) (value, detail string) {
	if m := valueThenDetail.FindStringSubmatch(text); m != nil {
		return m[1], m[2]
	}
	return "", text
}

var valueThenDetail = regexp.MustCompile(`(?s)^("(?:[^"\\]|\\.)*"|\[[^\]]*\]|[^:\s]+)(?:: (.*))?$`)

// requestFaults returns clauses for what Kueue says about requests, with the requester and the names of
// the resources.
func requestFaults() map[string]string {
	return map[string]string{
		"requests must not exceed its limits":           "%s requests more %s than its limit",
		"requests must not be above the limitRange max": "%s requests more %s than the LimitRange allows",
		"requests must not be below the limitRange min": "%s requests less %s than the LimitRange requires",
	}
}

// podTemplate matches the beginning of the path of a field of a Pod template.
var podTemplate = regexp.MustCompile(`^spec\.podSets\[\d+\]\.template\.`)

// containerPath matches the path of a container in a Workload.
var containerPath = regexp.MustCompile(`^spec\.podSets\[(\d+)\]\.template\.spec(?:\.(containers|initContainers)\[(\d+)\])?`)

// requester names the container or the Pod at a path of a Workload, counted from 1.
func requester(path string) string {
	m := containerPath.FindStringSubmatch(path)
	if m == nil {
		return path
	}
	who := map[string]string{"": "each Pod", "containers": "container ", "initContainers": "init container "}[m[2]]
	if m[3] != "" {
		who += number(m[3])
	}
	if m[1] != "0" {
		who += " of podset " + number(m[1])
	}
	return who
}

// number returns an index from 0 as a number from 1.
func number(index string) string {
	n, err := strconv.Atoi(index)
	if err != nil {
		return index
	}
	return strconv.Itoa(n + 1)
}
