package horizontalpodautoscaler

import (
	"errors"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// ask asks all metrics; the highest proposal counts. Of those that have no value none is needed to
// scale up, and all are to scale down. -1 and an error say that there is nothing to go by
// (computeReplicasForMetrics).
func (r *round) ask() (replicas int32, metric string, statuses []autoscalingv2.MetricStatus, err error) {
	sel, err := r.selector()
	if err != nil {
		return -1, "", nil, err
	}
	specs := r.hpa.Spec.Metrics
	statuses = make([]autoscalingv2.MetricStatus, len(specs))
	invalid := 0
	var first error
	var inactive autoscalingv2.HorizontalPodAutoscalerCondition
	for i, spec := range specs {
		m := &asked{round: r, spec: spec, selector: sel, status: &statuses[i]}
		p, name, err := m.ask()
		p.told.Type, p.told.Name, p.told.Proposed = string(spec.Type), m.label(), p.replicas
		if err != nil {
			if p.told.Error = err.Error(); invalid == 0 {
				first, inactive = err, m.inactive
			}
			invalid++
			p.told.Why = "no value, " + root(err).Error()
		} else if replicas == 0 || p.replicas > replicas {
			replicas, metric = p.replicas, name
		}
		p.told.Why = p.told.Name + ": " + p.told.Why
		r.tell("%s", p.told.Why)
		r.sum.Metrics = append(r.sum.Metrics, p.told)
	}
	if first != nil {
		err = fmt.Errorf("invalid metrics (%v invalid out of %v), first error is: %w", invalid, len(specs), first)
	}
	if invalid >= len(specs) || invalid > 0 && replicas < r.scale.Spec.Replicas {
		if invalid < len(specs) {
			r.tell("by the others %d would do, but that is fewer than there are", replicas)
		}
		r.condition(inactive.Type, inactive.Status, inactive.Reason, "%s", inactive.Message)
		return -1, "", statuses, err
	}
	if len(specs) > 1 {
		r.tell("the highest counts, %d", replicas)
	}
	r.condition(autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound", "the HPA was able to successfully calculate a replica count from %s", metric)
	return replicas, metric, statuses, err
}

// root is the error that others are wrapped around.
func root(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// asked is one metric as it is asked.
type asked struct {
	*round
	spec     autoscalingv2.MetricSpec
	selector labels.Selector
	status   *autoscalingv2.MetricStatus
	inactive autoscalingv2.HorizontalPodAutoscalerCondition // ScalingActive, if nothing comes of it
}

// question is what the calculator is asked.
func (m *asked) question() question {
	return question{m.run.T, m.hpa.Namespace, m.selector, m.scale.Spec.Replicas, m.scale.Status.Replicas, tolerancesOf(m.hpa)}
}

// unable tells of a metric without a value (getUnableComputeReplicaCountCondition).
func (m *asked) unable(reason string, err error) error {
	m.warn(reason, "%s", err.Error())
	m.inactive = autoscalingv2.HorizontalPodAutoscalerCondition{
		Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: reason,
		Message: fmt.Sprintf("the HPA was unable to compute the replica count: %v", err),
	}
	return err
}

// ask gives the proposal and the metric's name as Events have it (computeReplicasForMetric).
func (m *asked) ask() (proposal, string, error) {
	switch m.spec.Type {
	case autoscalingv2.ObjectMetricSourceType:
		p, name, err := m.object(m.spec.Object)
		if err != nil {
			err = fmt.Errorf("failed to get object metric value: %w", err)
		}
		return p, name, err
	case autoscalingv2.PodsMetricSourceType:
		p, name, err := m.ofPods(m.spec.Pods)
		if err != nil {
			err = fmt.Errorf("failed to get pods metric value: %w", err)
		}
		return p, name, err
	case autoscalingv2.ResourceMetricSourceType:
		s := m.spec.Resource
		p, current, name, err := m.resource(s.Name, "", s.Target)
		if err != nil {
			return p, name, fmt.Errorf("failed to get %s resource metric value: %w", s.Name, m.unable("FailedGetResourceMetric", err))
		}
		*m.status = autoscalingv2.MetricStatus{Type: m.spec.Type, Resource: &autoscalingv2.ResourceMetricStatus{Name: s.Name, Current: current}}
		return p, name, nil
	case autoscalingv2.ContainerResourceMetricSourceType:
		s := m.spec.ContainerResource
		p, current, name, err := m.resource(s.Name, s.Container, s.Target)
		if err != nil {
			return p, name, fmt.Errorf("failed to get %s container metric value: %w", s.Container, m.unable("FailedGetContainerResourceMetric", err))
		}
		*m.status = autoscalingv2.MetricStatus{Type: m.spec.Type, ContainerResource: &autoscalingv2.ContainerResourceMetricStatus{Name: s.Name, Container: s.Container, Current: current}}
		return p, name, nil
	case autoscalingv2.ExternalMetricSourceType:
		s := m.spec.External
		p, name, err := m.external(s)
		if err != nil {
			err = fmt.Errorf("failed to get %s external metric value: %w", s.Metric.Name, err)
		}
		return p, name, err
	}
	err := fmt.Errorf("unknown metric source type %q", string(m.spec.Type))
	return proposal{}, "", m.unable("InvalidMetricSourceType", err)
}

// resource asks for what pods, or a container of each, use
// (computeStatusForResourceMetricGeneric).
func (m *asked) resource(name corev1.ResourceName, container string, target autoscalingv2.MetricTarget) (p proposal, current autoscalingv2.MetricValueStatus, metric string, err error) {
	if target.AverageValue != nil {
		if p, err = m.calculator.averageUsage(m.question(), target.AverageValue.MilliValue(), name, container); err != nil {
			return p, current, "", fmt.Errorf("failed to get %s usage: %w", name, err)
		}
		used := quantity(name, p.usage)
		return p, autoscalingv2.MetricValueStatus{AverageValue: &used}, fmt.Sprintf("%s resource", name), nil
	}
	if target.AverageUtilization == nil {
		return p, current, "", errors.New("invalid resource metric source: neither an average utilization target nor an average value (usage) target was set")
	}
	if p, err = m.calculator.utilization(m.question(), *target.AverageUtilization, name, container); err != nil {
		return p, current, "", fmt.Errorf("failed to get %s utilization: %w", name, err)
	}
	metric = fmt.Sprintf("%s resource utilization (percentage of request)", name)
	if m.spec.Type == autoscalingv2.ContainerResourceMetricSourceType {
		metric = fmt.Sprintf("%s container resource utilization (percentage of request)", name)
	}
	used := quantity(name, p.usage)
	return p, autoscalingv2.MetricValueStatus{AverageUtilization: &p.percent, AverageValue: &used}, metric, nil
}

// ofPods asks for another metric of pods (computeStatusForPodsMetric).
func (m *asked) ofPods(s *autoscalingv2.PodsMetricSource) (proposal, string, error) {
	which, err := metav1.LabelSelectorAsSelector(s.Metric.Selector)
	var p proposal
	if err == nil {
		p, err = m.calculator.averageMetric(m.question(), s.Target.AverageValue.MilliValue(), s.Metric.Name, which)
	}
	if err != nil {
		return p, "", m.unable("FailedGetPodsMetric", err)
	}
	*m.status = autoscalingv2.MetricStatus{Type: m.spec.Type, Pods: &autoscalingv2.PodsMetricStatus{
		Metric:  autoscalingv2.MetricIdentifier{Name: s.Metric.Name, Selector: s.Metric.Selector},
		Current: autoscalingv2.MetricValueStatus{AverageValue: milli(p.usage)},
	}}
	return p, "pods metric " + s.Metric.Name, nil
}

// object asks for a metric of one object (computeStatusForObjectMetric).
func (m *asked) object(s *autoscalingv2.ObjectMetricSource) (p proposal, metric string, err error) {
	const reason = "FailedGetObjectMetric"
	which, err := metav1.LabelSelectorAsSelector(s.Metric.Selector)
	if err != nil {
		return p, "", m.unable(reason, err)
	}
	st := &autoscalingv2.ObjectMetricStatus{
		DescribedObject: s.DescribedObject,
		Metric:          autoscalingv2.MetricIdentifier{Name: s.Metric.Name, Selector: s.Metric.Selector},
	}
	switch target := s.Target; {
	case target.Type == autoscalingv2.ValueMetricType && target.Value != nil:
		if p, err = m.calculator.objectValue(m.question(), target.Value.MilliValue(), s.Metric.Name, &s.DescribedObject, which); err != nil {
			return p, "", m.unable(reason, err)
		}
		st.Current.Value = milli(p.usage)
		metric = fmt.Sprintf("%s metric %s", s.DescribedObject.Kind, s.Metric.Name)
	case target.Type == autoscalingv2.AverageValueMetricType && target.AverageValue != nil:
		if p, err = m.calculator.objectAverage(m.question(), target.AverageValue.MilliValue(), s.Metric.Name, &s.DescribedObject, which); err != nil {
			return p, "", fmt.Errorf("failed to get %s object metric: %w", s.Metric.Name, m.unable(reason, err))
		}
		st.Current.AverageValue = milli(p.usage)
		metric = fmt.Sprintf("external metric %s(%+v)", s.Metric.Name, s.Metric.Selector) // upstream's words
	default:
		return p, "", m.unable(reason, errors.New("invalid object metric source: neither a value target nor an average value target was set"))
	}
	*m.status = autoscalingv2.MetricStatus{Type: m.spec.Type, Object: st}
	return p, metric, nil
}

// external asks for a metric from outside the cluster (computeStatusForExternalMetric).
func (m *asked) external(s *autoscalingv2.ExternalMetricSource) (p proposal, metric string, err error) {
	const reason = "FailedGetExternalMetric"
	st := &autoscalingv2.ExternalMetricStatus{Metric: autoscalingv2.MetricIdentifier{Name: s.Metric.Name, Selector: s.Metric.Selector}}
	switch target := s.Target; {
	case target.AverageValue != nil:
		if p, err = m.calculator.externalAverage(m.question(), target.AverageValue.MilliValue(), s.Metric.Name, s.Metric.Selector); err != nil {
			return p, "", fmt.Errorf("failed to get %s external metric: %w", s.Metric.Name, m.unable(reason, err))
		}
		st.Current.AverageValue = milli(p.usage)
	case target.Value != nil:
		if p, err = m.calculator.externalValue(m.question(), target.Value.MilliValue(), s.Metric.Name, s.Metric.Selector); err != nil {
			return p, "", fmt.Errorf("failed to get external metric %s: %w", s.Metric.Name, m.unable(reason, err))
		}
		st.Current.Value = milli(p.usage)
	default:
		return p, "", m.unable(reason, errors.New("invalid external metric source: neither a value target nor an average value target was set"))
	}
	*m.status = autoscalingv2.MetricStatus{Type: m.spec.Type, External: st}
	return p, fmt.Sprintf("external metric %s(%+v)", s.Metric.Name, s.Metric.Selector), nil
}

func milli(v int64) *resource.Quantity { return resource.NewMilliQuantity(v, resource.DecimalSI) }

// label is the metric as sentences name it.
func (m *asked) label() string {
	switch s := m.spec; s.Type {
	case autoscalingv2.ResourceMetricSourceType:
		return string(s.Resource.Name)
	case autoscalingv2.ContainerResourceMetricSourceType:
		return fmt.Sprintf("%s of container %s", s.ContainerResource.Name, s.ContainerResource.Container)
	case autoscalingv2.PodsMetricSourceType:
		return s.Pods.Metric.Name + " of pods"
	case autoscalingv2.ObjectMetricSourceType:
		return fmt.Sprintf("%s of %s/%s", s.Object.Metric.Name, s.Object.DescribedObject.Kind, s.Object.DescribedObject.Name)
	case autoscalingv2.ExternalMetricSourceType:
		return s.External.Metric.Name
	}
	return string(m.spec.Type)
}
