package framework

// DefaultNormalizeScore scales scores so that the greatest becomes
// [MaxNodeScore]; reverse then turns them round, so that fewer is better.
//
// Mirrors framework/plugins/helper/normalize_score.go.
func DefaultNormalizeScore(reverse bool, scores []int64) {
	var most int64
	for _, s := range scores {
		most = max(most, s)
	}
	for i := range scores {
		if most > 0 {
			scores[i] = MaxNodeScore * scores[i] / most
		}
		if reverse {
			scores[i] = MaxNodeScore - scores[i]
		}
	}
}
