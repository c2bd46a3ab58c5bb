package request

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StatusOf is the body that tells a client of an error; nil of none
// (responsewriters/status.go ErrorToAPIStatus).
func StatusOf(err error) *metav1.Status {
	if err == nil {
		return nil
	}
	var st apierrors.APIStatus
	if errors.As(err, &st) {
		s := st.Status()
		s.Kind, s.APIVersion = "Status", "v1"
		return &s
	}
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: http.StatusInternalServerError, Reason: metav1.StatusReasonUnknown, Message: err.Error(),
	}
}

// PlainError is an error as Kubernetes passes it on when it has no word of its own for
// it: 500, with the message as it is.
func PlainError(err error) error {
	return &apierrors.StatusError{ErrStatus: *StatusOf(err)}
}
