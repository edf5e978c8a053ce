# The program alone, static, for a user without rights: docs/install.md says how it is built and run.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/train ./cmd/train
RUN mkdir /out/work && cp /etc/ssl/certs/ca-certificates.crt /out/

FROM scratch
COPY --from=build /out/train /usr/bin/train
# Certificates are for `train data fetch`.
COPY --from=build /out/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build --chown=65532:65532 /out/work /work
USER 65532:65532
ENV HOME=/work
WORKDIR /work
ENTRYPOINT ["/usr/bin/train"]
CMD ["run"]
