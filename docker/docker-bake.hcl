# All versions: docker buildx bake -f docker/docker-bake.hcl
variable "VERSION" { default = "0.2" }
group "default" { targets = ["logsvc"] }
target "logsvc" {
  name = "logsvc-pg${pg}-${suite}"
  matrix = {
    pg = ["15", "16", "17", "18"]
    suite = ["bookworm", "trixie"]
  }
  dockerfile = "docker/Dockerfile"
  args = { PG = pg, SUITE = suite }
  platforms = ["linux/amd64", "linux/arm64"]
  tags = concat(["logsvc:${VERSION}-pg${pg}-${suite}"], suite == "trixie" ? ["logsvc:pg${pg}"] : [])
  labels = {
    "org.opencontainers.image.version" = "${VERSION}"
  }
}
