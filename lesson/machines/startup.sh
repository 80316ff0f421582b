
# ---- from here on the same for every machine (lesson/machines/startup.sh) ---------------------------------
set -u -o pipefail
# What starts this script may set none of these; gcloud is a snap on Ubuntu.
export HOME=${HOME:-/root} DEBIAN_FRONTEND=noninteractive PATH=$PATH:/snap/bin
OFF=${VM_SHUTDOWN:-$OFF}
ROOT=${VM_ROOT:-/opt/lesson}                # all that this script writes
PYTHON=${VM_PYTHON:-$ROOT/venv/bin/python}  # VM_PYTHON: an environment that is there already
export GLOO_SOCKET_IFNAME=${GLOO_SOCKET_IFNAME:-lo}  # replicas of one machine meet on loopback

# The deadline: a process of its own, which switches the machine off even if all else hangs. First
# it ends the training, whose log and checkpoints then have GRACE seconds to reach the bucket.
watch_deadline() {
  local nap
  trap 'kill "$nap"; exit' TERM
  sleep "$DEADLINE" & nap=$!
  wait "$nap"
  echo "the deadline of $DEADLINE s has passed" | tee -a "$ROOT/startup.log"
  pkill -TERM -P "$(cat "$ROOT/main.pid")" 2>/dev/null
  sleep "$GRACE" & nap=$!
  wait "$nap"
  bash -c "$OFF"
}

# The GPUs: an image may install the driver when it starts for the first time, so ask for a while.
check_driver() {
  local tries=${VM_DRIVER_TRIES:-60} seen
  if [ "$GPUS" -eq 0 ] || [ "${VM_DRIVER:-}" = none ]; then return; fi
  until nvidia-smi >/dev/null 2>&1 || [ $((tries -= 1)) -lt 0 ]; do sleep 10; done
  seen=$(nvidia-smi --list-gpus 2>/dev/null | wc -l)
  if [ "$seen" -ne "$GPUS" ]; then
    echo "nvidia-smi sees $((seen)) of $GPUS GPUs; choose an image that has NVIDIA's driver"
    exit 3
  fi
}

# The packages of the job in the versions of the lock, in an environment of their own.
make_environment() {
  if [ -n "${VM_PYTHON:-}" ]; then return; fi
  python3 -m pip --version >/dev/null 2>&1 || { apt-get update -q; apt-get install -yq python3-pip; }
  python3 -m pip install --quiet --upgrade --target "$ROOT/uv" "$UV"
  lock >"$ROOT/lock.txt"
  export UV_TORCH_BACKEND=${UV_TORCH_BACKEND-auto}  # the build that fits the driver
  if [ -z "$UV_TORCH_BACKEND" ]; then unset UV_TORCH_BACKEND; fi
  [ -x "$PYTHON" ] || "$ROOT/uv/bin/uv" venv --quiet --python '>=3.11' "$ROOT/venv"
  # shellcheck disable=SC2086  # several words
  "$ROOT/uv/bin/uv" pip install --quiet --python "$PYTHON" -c "$ROOT/lock.txt" $PACKAGES
}

# One process for each GPU, which form one group. They read their data from the bucket, and write
# checkpoints and results into it.
train() {
  local replicas=$((GPUS > 0 ? GPUS : 1))
  copy "$BASE/source.tar.gz" "$ROOT/source.tar.gz"
  tar -xzf "$ROOT/source.tar.gz" -C "$ROOT"
  "$PYTHON" -m torch.distributed.run --standalone --local-addr=127.0.0.1 \
    --log-dir="$ROOT/torchrun" --nproc-per-node="$replicas" \
    "$ROOT/training/train_nn.py" "${FLAGS[@]}" &
  wait $!
}

run() {
  set -e
  sh -c 'echo $PPID' >"$ROOT/main.pid"
  echo "$NAME: $GPUS GPUs, at most $DEADLINE s"
  check_driver
  make_environment
  train
}

watch_deadline &
watching=$!
mkdir -p "$ROOT"
run 2>&1 | tee -a "$ROOT/startup.log"
code=${PIPESTATUS[0]}
echo "$code" >"$ROOT/exit_code"
copy "$ROOT/startup.log" "$BASE/startup.log" && copy "$ROOT/exit_code" "$BASE/exit_code"
if bash -c "$OFF"; then kill "$watching"; fi
exit "$code"
