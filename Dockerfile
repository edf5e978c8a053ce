# The program alone, static, for a user without rights: docs/install.md says how it is built and run.
# With --target mpi: the program that an MPI launcher starts beside it, on Debian with Open MPI.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/train ./cmd/train
RUN CGO_ENABLED=0 go build -tags mpi -trimpath -ldflags='-s -w' -o /out/train-mpi ./cmd/train
RUN mkdir /out/work && cp /etc/ssl/certs/ca-certificates.crt /out/

FROM debian:bookworm-slim AS mpi
# Launchers reach other machines by ssh; the workers of a Kubernetes MPIJob run its server, as root. Nobody
# is there to confirm the keys of workers, and the folder of their own keys is open to all.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libopenmpi3 openmpi-bin openssh-client openssh-server && rm -rf /var/lib/apt/lists/* && \
    mkdir -p /run/sshd && echo StrictModes no >/etc/ssh/sshd_config.d/mpi.conf && \
    printf 'StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n' >/etc/ssh/ssh_config.d/mpi.conf
COPY --from=build /out/train /out/train-mpi /usr/bin/
COPY --from=build --chown=65532:65532 /out/work /work
USER 65532:65532
ENV HOME=/work
WORKDIR /work
CMD ["train-mpi", "run"]

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
