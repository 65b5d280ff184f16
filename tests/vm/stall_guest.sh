# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Inside the guest: five peers beat over veth, kphi watches, the whole machine is stopped from outside, and this tells what
# kphi made of it, as lines `result NAME VALUE` that tests/vm/stall.sh reads.

exec 2>&1
cd /test || exit 1
a() { nsenter --net=/run/netns/a "$@"; }
b() { nsenter --net=/run/netns/b "$@"; }
id() { echo "6f1c0000-0000-4000-8000-00000000000$1"; }

ip netns add a
ip netns add b
ip link add eth0 netns a type veth peer name eth0 netns b
a ip addr add 10.0.0.1/24 dev eth0
b ip addr add 10.0.0.2/24 dev eth0
a ip link set eth0 up
b ip link set eth0 up

cat > kphi.yaml << 'YAML'
devices:
  - {name: eth0}
peers:
  - interval: 500ms
    list:
      - {name: p1, id: 6f1c0000-0000-4000-8000-000000000001}
      - {name: p2, id: 6f1c0000-0000-4000-8000-000000000002}
      - {name: p3, id: 6f1c0000-0000-4000-8000-000000000003}
      - {name: p4, id: 6f1c0000-0000-4000-8000-000000000004}
      - {name: p5, id: 6f1c0000-0000-4000-8000-000000000005}
YAML
a kphi run config kphi.yaml > events 2> run.log &
for n in 1 2 3 4 5; do
	b kphi beat to 10.0.0.1 interval 500ms id "$(id $n)" priority 0 state "epoch-$n" > /dev/null 2>&1 &
	eval "sender$n=$!"
done
sleep 8

# The reader without a daemon, over and over: does it ever call anybody suspect?
while :; do
	kphi -j peer show
	sleep 0.2
done > shows &
reader=$!
sleep 2
echo guest-ready
waited=0
until grep -q '"type":"stall"' events || [ $waited -ge 60 ]; do
	sleep 0.5
	waited=$((waited + 1))
done
sleep 6
kill $reader
echo "result events $(wc -l < events)"
echo "result suspects $(grep -c '"type":"suspect"' events)"
echo "result stall_ms $(jq -s '[.[] | select(.type == "stall") | .length_ns] | (max // 0) / 1e6 | floor' events)"
echo "result reads $(jq -s 'length' shows)"
echo "result reads_suspect $(jq -s '[.[][] | select(.state == "suspect")] | length' shows)"
echo "result up $(kphi -j peer show | jq '[.[] | select(.state == "up")] | length')"
echo "result mean_off_ppm $(kphi -j peer show | jq '[.[] | (.mean_ns / 500e6 - 1) * 1e6 | fabs] | max | round')"
echo "result unlearned $(kphi -j peer show | jq '[.[] | .unlearned] | min')"
echo "result discount_ms $(jq -s '[.[][] | .stalled_ns] | max / 1e6 | floor' shows)"
kill -9 $sender1
waited=0
until grep '"type":"suspect"' events | grep -q '"p1"' || [ $waited -ge 40 ]; do
	sleep 0.25
	waited=$((waited + 1))
done
echo "result found_p1 $(grep '"type":"suspect"' events | grep -c '"p1"')"
echo "result suspects_in_all $(grep -c '"type":"suspect"' events)"
grep '"type":"\(stall\|suspect\|hold\|release\)"' events | head -20
head -5 run.log
