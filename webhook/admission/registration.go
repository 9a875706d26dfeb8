package admission

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

const (
	// domain ends the names of the webhooks.
	domain = ".admission.kubeinterpret.io"
	// How long an API server waits, in seconds. Nine scripts may take a second each to load.
	customizationSeconds = 10
	configurationSeconds = 3
)

// Registration is what has an API server ask a Handler before it stores anything: a configuration under a
// name, in which client says where the handler is. As long as nobody answers there, the two resources cannot
// be written; everything else can.
func Registration(name string, client admissionregistrationv1.WebhookClientConfig) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			hook(customizations, customizationSeconds, client),
			hook(configurations, configurationSeconds, client),
		},
	}
}

func hook(resource string, seconds int32, client admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name:         resource + domain,
		ClientConfig: *client.DeepCopy(),
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{
				APIGroups:   []string{v1alpha1.GroupName},
				APIVersions: []string{"*"},
				Resources:   []string{resource},
				Scope:       new(admissionregistrationv1.ClusterScope),
			},
		}},
		FailurePolicy:           new(admissionregistrationv1.Fail),
		MatchPolicy:             new(admissionregistrationv1.Equivalent),
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          new(seconds),
		AdmissionReviewVersions: []string{"v1"},
	}
}
