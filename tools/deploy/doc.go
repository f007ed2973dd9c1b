// Package deploy holds the tests of docs/deploy: the manifests of Kubernetes, the unit of systemd
// and the image. README.md says what they need.
package deploy
