# Two builds of the same image:
#
#     docker build .                              compiles from source
#     docker build --build-arg SOURCE=prebuilt .  copies linux/amd64/openai-responses-mcp
#
# The release uses the second one. Unused stages are not built. With
# --build-arg RELEASE=true the first one makes the binary of the release.
ARG SOURCE=source

FROM --platform=$BUILDPLATFORM docker.io/library/golang:1.26.9@sha256:f1f0bcc2c524a3ced375fcb4d1ecb7aa371aa7070e112599aaca45cc02d0101b AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG RELEASE
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -ldflags="-s -w -buildid= -X github.com/uchimanajet7/openai-responses-mcp/internal/base/version.release=$RELEASE" -o /openai-responses-mcp ./cmd/openai-responses-mcp

FROM scratch AS source
COPY --from=build /openai-responses-mcp /openai-responses-mcp

FROM scratch AS prebuilt
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/openai-responses-mcp /openai-responses-mcp

# The default is repeated for older builders, which lose it here.
FROM ${SOURCE:-source} AS binary

# The binary is static and contains root certificates.
FROM scratch
COPY --from=binary --chmod=0755 /openai-responses-mcp /openai-responses-mcp
LABEL org.opencontainers.image.title="openai-responses-mcp" \
      org.opencontainers.image.description="Web-searched, cited answers from the OpenAI Responses API" \
      org.opencontainers.image.version="1.3.0" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.url="https://github.com/uchimanajet7/openai-responses-mcp" \
      org.opencontainers.image.source="https://github.com/uchimanajet7/openai-responses-mcp" \
      org.opencontainers.image.documentation="https://github.com/uchimanajet7/openai-responses-mcp/blob/main/docs/reference/installation.md" \
      io.modelcontextprotocol.server.name="io.github.uchimanajet7/openai-responses-mcp"
USER 65532:65532
ENTRYPOINT ["/openai-responses-mcp"]
CMD ["--stdio"]
