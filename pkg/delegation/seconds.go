package delegation

import "time"

// mostSeconds limits Seconds, so that a caller can add to the result.
const mostSeconds = int64(1<<62) / int64(time.Second)

// Seconds returns a number of seconds from an object as a duration: at most 146 years, because many fields accept
// more than a duration can have.
func Seconds(n int64) time.Duration {
	return time.Duration(min(n, mostSeconds)) * time.Second
}
