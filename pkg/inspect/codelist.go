package inspect

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// CodeList describes the codes of findings.
type CodeList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are the codes, in the order of their numbers.
	Items []CodeDescription `json:"items"`
}

// CodeDescription describes what a finding with one code means.
type CodeDescription struct {
	// Code is the code. A code is never reused for another problem.
	Code string `json:"code"`
	// Severity is the usual severity of its findings.
	Severity Severity `json:"severity"`
	// Title names the problem in a few words.
	Title string `json:"title"`
	// Why says what causes the problem.
	Why string `json:"why"`
	// Shows says what users see of the problem.
	Shows string `json:"shows"`
	// Remedy says what to do.
	Remedy string `json:"remedy"`
	// Docs is the address of the page about the code, as in a finding.
	Docs string `json:"docs"`
	// Link is the address of documentation or a discussion elsewhere.
	Link string `json:"link"`
}

// NewCodeList returns an empty list with its kind set.
func NewCodeList() *CodeList {
	return &CodeList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "CodeList"},
		Items:    []CodeDescription{},
	}
}

// DeepCopyObject makes a CodeList a runtime.Object, for printers.
func (l *CodeList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = append([]CodeDescription(nil), l.Items...)
	return &c
}
