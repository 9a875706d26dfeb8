// Package conversion turns objects of one version of a custom resource into those of another, at both ends of the
// wire that CustomResourceDefinitions name in spec.conversion.
//
// A [Handler] answers ConversionReviews (apiextensions.k8s.io/v1) with the [Converter] of each kind; put it into a
// [webhook.Server]. A [Client] asks the conversion webhook of a CRD as an API server does. Both hold conversions to
// the rules of the API, so a mistake is told where it is made.
//
// # What a conversion may change
//
// Everything but what makes the object the one it is. The API server refuses an answer in which kind, group,
// metadata.name, metadata.namespace or metadata.uid differ, or whose version is not the one asked for; so do Handler
// and Client, by name of the field. Of the rest of metadata it takes labels and annotations from the answer, and
// silently puts everything else back; so do they.
//
// An answer is for all objects of a review or for none.
//
// # Converters in files
//
// A converter may be written in Lua, and run in the sandbox of customizations:
//
//	apiVersion: kubeinterpret.io/v1alpha1
//	kind: Converter
//	metadata:
//	  name: foo
//	spec:
//	  target:
//	    group: sample.webhook.io
//	    kind: Foo
//	    versions: [v1, v2]
//	  luaScript: |
//	    function Convert(obj, desiredAPIVersion)
//	      if desiredAPIVersion == "sample.webhook.io/v1" then
//	        obj.spec.alias = nil
//	      end
//	      obj.apiVersion = desiredAPIVersion
//	      return obj
//	    end
//
// The function is called for one object at a time, and only if the object is of another version than the desired
// one; both are of spec.target.versions. No field but those above is known, and all of spec is required.
//
// # Rationale
//
// Why is a converter registered for a kind, and not for a resource? A review does not name the resource.
//
// Why is there no v1beta1 of the review on the server's side? All API servers that serve CRDs of
// apiextensions.k8s.io/v1 speak its v1. The client has it, because hooks that are older still run.
package conversion
