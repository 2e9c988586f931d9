package window

import (
	"math"
	"testing"
	"time"
)

func TestBucketBounds(t *testing.T) {
	bounds := modelBounds()
	if len(bounds) != bucketCount {
		t.Fatalf("%d buckets, want %d", bucketCount, len(bounds))
	}
	for b, bound := range bounds {
		if got := upperBound(b); got != bound {
			t.Fatalf("upper bound of bucket %d is %v, want %v", b, got, bound)
		}
		if got := int(bucketOf(bound)); got != b {
			t.Errorf("%v falls in bucket %d, want %d", bound, got, b)
		}
		if got := int(bucketOf(bound + 1)); got != min(b+1, bucketCount-1) {
			t.Errorf("%v + 1 ns falls in bucket %d, want %d", bound, got, b+1)
		}
	}
	if got := bounds[len(bounds)-1]; got != 134217728*time.Microsecond {
		t.Errorf("last bound is %v", got)
	}
	if bucketOf(0) != 0 || bucketOf(math.MaxInt64) != bucketCount-1 {
		t.Error("extremes fall outside the first and the last bucket")
	}
}

func TestRank(t *testing.T) {
	for _, tt := range []struct {
		q    float64
		n    uint64
		want uint64
	}{
		{0.5, 1, 1},
		{0.5, 2, 1},
		{0.5, 3, 2},
		{0.95, 20, 19},
		{0.95, 21, 20},
		{0.55, 100, 55}, // 55.00000000000001 in floating point
		{0.07, 100, 7},  // 7.000000000000001
		{0.29, 100, 29}, // 28.999999999999996
		{0.99, 1_000_000_000, 990_000_000},
		{1e-300, 10, 1},
		{0, 10, 1},
		{-1, 10, 1},
		{math.NaN(), 10, 1},
		{1, 10, 10},
		{2, 10, 10},
		{math.Inf(1), 10, 10},
		{math.Nextafter(1, 0), 10, 10},
		{math.Nextafter(1, 0), math.MaxUint32 * 800, math.MaxUint32 * 800},
	} {
		if got := rank(tt.q, tt.n); got != tt.want {
			t.Errorf("rank(%v, %d) = %d, want %d", tt.q, tt.n, got, tt.want)
		}
	}
}
