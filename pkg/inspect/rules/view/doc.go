// Package view is what rules may ask about an inventory, and what they report.
//
// A Rule has a function that detects. It gets a View, asks it about clusters, Jobs, Workloads,
// queues and workers, and reports Sightings. Each question notes which parts of the inventory it
// reads, so that a test can compare them with the parts that the rule declares. Answers are facts.
// Package quote turns them into evidence, and package advice into remedies.
package view
