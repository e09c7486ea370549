#!/usr/bin/env bash
# Boots systemd, takes the steps of the section "systemd" of deployment.md, and asks the server that the
# unit starts.
#
#     unshare --kill-child --mount --pid --fork --net --ipc --uts --cgroup bash test/release/boot.sh BINARY FOLDER
#
# The namespaces keep the machine as it is. FOLDER gets the log of the server and, in the file checks, what
# a client sees.
set -e
binary=$1 out=$2
name=openai-responses-mcp

mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /mnt
for dir in etc usr/bin; do
  mkdir -p "/mnt/$dir" "/mnt/work/$dir"
  mount -t overlay overlay -o "lowerdir=/$dir,upperdir=/mnt/$dir,workdir=/mnt/work/$dir" "/$dir"
done
mkdir /mnt/out
mount --bind "$out" /mnt/out # systemd mounts over /run and /tmp
install "$binary" "/usr/bin/$name"
ip link set lo up

units=/mnt/units
mkdir -p "$units/$name.service.d"
cp "config/systemd/$name.service" "$units"
cat >"$units/$name.service.d/here.conf" <<END
[Unit]
DefaultDependencies=no
After=
Wants=
[Service]
StandardOutput=append:/mnt/out/log
StandardError=append:/mnt/out/log
Restart=no
END
cat >"$units/checks.service" <<END
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
StandardOutput=append:/mnt/out/checks
ExecStart=sh -c 'curl -s --retry 20 --retry-connrefused --retry-delay 1 http://127.0.0.1:8080/healthz'
ExecStart=sh -c 'systemctl restart $name && systemctl is-active $name'
ExecStart=sh -c 'systemctl stop $name && systemctl show -p Result $name'
ExecStopPost=systemctl exit --force
END
cat >"$units/checks.target" <<END
[Unit]
DefaultDependencies=no
Wants=$name.service checks.service
END

sudo() { "$@"; }
steps=$(sed -n '/^## systemd/,/^```$/{/^sudo systemctl/d;/^```/d;p}' docs/reference/deployment.md |
  sed '1,/user of its own/d')
OPENAI_API_KEY=sk-boot
eval "$steps"

mount -t tmpfs tmpfs /run
export container=boot SYSTEMD_UNIT_PATH=$units
exec /lib/systemd/systemd --system --unit=checks.target --log-target=console
