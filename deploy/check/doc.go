// Package check holds the tests of deploy/: the chart is rendered and the manifests are
// read strictly into the types of the Kubernetes API; the image's file tree is made and
// the binary started inside. It is a module of its own, because Helm's and Kubernetes'
// modules are large and llmd needs none of them.
package check
