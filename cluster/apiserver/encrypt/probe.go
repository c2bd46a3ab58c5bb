package encrypt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/protobuf/proto"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/storage/value"
	kmsv2 "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2"
	kmstypes "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/v2"
	"k8s.io/kms/pkg/service"

	"kviz/cluster/kms"
	"kviz/cluster/sim"
)

// How often a KMS plugin is asked for its status, and how long its last good
// answer lets the API server write (encryptionconfig/config.go).
const (
	askedWhenWell = time.Minute
	askedWhenIll  = 10 * time.Second
	writesFor     = 3 * time.Minute
)

// Probe keeps a KMS provider's data key: it asks the plugin for its status and
// makes a new data key when the plugin uses a new key encryption key
// (encryptionconfig/config.go kmsv2PluginProbe).
type Probe struct {
	Name    string
	service service.Service
	rand    *rand.Rand

	state   kmsv2.State
	expires time.Time // virtual; from then on nothing is encrypted
	version string
	err     error // of the last check
	stopped bool
	wake    sim.Cond
}

// Err is how the last check ended; nil is well.
func (p *Probe) Err() error { return p.err }

// KeyID names the key encryption key in use.
func (p *Probe) KeyID() string { return p.state.EncryptedObjectKeyID }

// Run asks every minute, and every ten seconds while something is wrong, until
// the set is stopped. The first check is the caller's (primeAndProbeKMSv2).
func (p *Probe) Run(t *sim.Task) {
	for !p.stopped {
		every := askedWhenWell
		if p.err != nil {
			every = askedWhenIll
		}
		p.wake.WaitTimeout(t, every)
		if !p.stopped {
			_ = p.Check(t) // kept in p.err
		}
	}
}

func (p *Probe) stop() {
	p.stopped = true
	p.wake.Broadcast()
}

// Check asks for the status now.
func (p *Probe) Check(t *sim.Task) error {
	ctx := kms.Context(t)
	status, err := p.service.Status(ctx)
	if err != nil {
		p.err = fmt.Errorf("failed to perform status section of the healthz check for KMS Provider %s, error: %w", p.Name, err)
		return p.err
	}
	p.err = p.judge(ctx, t, status)
	return p.err
}

// judge is isKMSv2ProviderHealthyAndMaybeRotateDEK.
func (p *Probe) judge(ctx context.Context, t *sim.Task, status *service.StatusResponse) error {
	var errs []error
	if status.Healthz != "ok" {
		errs = append(errs, fmt.Errorf("got unexpected healthz status: %s", status.Healthz))
	}
	switch {
	case status.Version != kmsv2.KMSAPIVersionv2 && status.Version != kmsv2.KMSAPIVersionv2beta1:
		errs = append(errs, fmt.Errorf("expected KMSv2 API version %s, got %s", kmsv2.KMSAPIVersionv2, status.Version))
	case p.version == "":
		p.version = status.Version
	case p.version != status.Version:
		errs = append(errs, fmt.Errorf("KMSv2 API version should not change after the initial status response version %s, got %s", p.version, status.Version))
	}
	if _, err := kmsv2.ValidateKeyID(status.KeyID); err != nil {
		errs = append(errs, fmt.Errorf("got invalid KMSv2 KeyID hash %q: %w", kmsv2.GetHashIfNotEmpty(status.KeyID), err))
	} else {
		errs = append(errs, p.rotate(ctx, t, status.KeyID))
	}
	if err := utilerrors.Reduce(utilerrors.NewAggregate(errs)); err != nil {
		return fmt.Errorf("kmsv2 Provider %s is not healthy, error: %w", p.Name, err)
	}
	return nil
}

// never is an expiry that upstream's check against the machine's clock does not
// reach; ours is against virtual time (see [inTime]).
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// rotate makes a new seed if the plugin has a new key, and lets writes go on for
// another while (rotateDEKOnKeyIDChange).
func (p *Probe) rotate(ctx context.Context, t *sim.Task, keyID string) error {
	expires := t.Now().Add(writesFor) // from before the call
	state, errState := p.current()
	if errState == nil && state.EncryptedObjectKeyID == keyID {
		p.expires = expires
		return nil
	}
	uid := p.uid()
	seed := make([]byte, seedSize)
	sim.Fill(p.rand, seed)
	// Upstream's own draws a seed as well; the plugin gets ours instead.
	_, enc, cacheKey, errGen := kmsv2.GenerateTransformer(ctx, uid, &swapped{p.service, seed}, true)
	if enc == nil {
		enc = &kmstypes.EncryptedObject{}
	}
	if errGen == nil && enc.KeyID == keyID {
		transformer, err := newSeeded(seed, p.rand)
		if err != nil {
			return err
		}
		p.state = kmsv2.State{
			Transformer: transformer, EncryptedObjectKeyID: enc.KeyID, EncryptedObjectEncryptedDEKSource: enc.EncryptedDEKSource,
			EncryptedObjectAnnotations: enc.Annotations, EncryptedObjectEncryptedDEKSourceType: enc.EncryptedDEKSourceType,
			UID: uid, ExpirationTimestamp: never, CacheKey: cacheKey,
		}
		p.expires = expires
		return nil
	}
	return fmt.Errorf("failed to rotate DEK uid=%q, useSeed=%v, errState=%v, errGen=%v, statusKeyIDHash=%q, encryptKeyIDHash=%q, stateKeyIDHash=%q, expirationTimestamp=%s",
		uid, true, errState, errGen, kmsv2.GetHashIfNotEmpty(keyID), kmsv2.GetHashIfNotEmpty(enc.KeyID),
		kmsv2.GetHashIfNotEmpty(state.EncryptedObjectKeyID), p.expires.Format(time.RFC3339))
}

// current is the data key in use (getCurrentState).
func (p *Probe) current() (kmsv2.State, error) {
	if p.state.Transformer == nil {
		return kmsv2.State{}, errors.New("got unexpected nil transformer")
	}
	return p.state, nil
}

// uid names a call, as a UUID.
func (p *Probe) uid() string {
	var b [16]byte
	sim.Fill(p.rand, b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// swapped has the plugin encrypt another key than it is given.
type swapped struct {
	service.Service
	key []byte
}

func (s *swapped) Encrypt(ctx context.Context, uid string, _ []byte) (*service.EncryptResponse, error) {
	return s.Service.Encrypt(ctx, uid, s.key)
}

// inTime is the envelope, but that nothing is encrypted with a data key that has
// expired in virtual time (kmsv2 State.ValidateEncryptCapability).
type inTime struct {
	value.Transformer
	p *Probe
}

func (t *inTime) TransformToStorage(ctx context.Context, data []byte, key value.Context) ([]byte, error) {
	state, err := t.p.current()
	if err != nil {
		return nil, err
	}
	if now, ok := kms.Now(ctx); ok && now.After(t.p.expires) {
		return nil, fmt.Errorf("encryptedDEKSource with keyID hash %q expired at %s (current time is %s)",
			kmsv2.GetHashIfNotEmpty(state.EncryptedObjectKeyID), t.p.expires.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	stored, err := t.Transformer.TransformToStorage(ctx, data, key)
	if err != nil {
		return nil, err
	}
	return inOrder(stored)
}

// inOrder writes the plugin's annotations in the order of their names; upstream
// writes them in the random one of its map.
func inOrder(stored []byte) ([]byte, error) {
	o := &kmstypes.EncryptedObject{}
	if err := proto.Unmarshal(stored, o); err != nil {
		return nil, fmt.Errorf("reading what was encrypted: %w", err)
	}
	if len(o.Annotations) < 2 {
		return stored, nil
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(o)
}
