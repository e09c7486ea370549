# shellcheck shell=bash disable=SC2154
# What a tag sets off: the steps of release.yml, played against a fake GitHub.

# laid compares the packages of the job that came after two failures with those
# that the registry on loopback gets.
laid() {
  local job
  job=$(echo "$work"/tag/badly/*-npm/src/bin/packages) && diff -r bin/packages "$job"
}

publish_proofs() {
  LIMIT=40m proofs "$work/bin/tag" "$src" "$work/tag"
  proof "release.yml lays out the npm packages that are tried here" laid
}
