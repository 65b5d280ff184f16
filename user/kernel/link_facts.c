// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/link_facts.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/netlink.h"

enum link_packets link_packets(uint16_t type)
{
	switch (type) {
	case ARPHRD_ETHER:
	case ARPHRD_LOOPBACK:
		return LINK_ETHERNET;
	case ARPHRD_NONE: /* wireguard, tun */
	case ARPHRD_RAWIP:
	case ARPHRD_PPP:
	case ARPHRD_TUNNEL:
	case ARPHRD_TUNNEL6:
	case ARPHRD_SIT:
	case ARPHRD_IPGRE:
	case ARPHRD_IP6GRE:
		return LINK_IP;
	default:
		return LINK_FOREIGN;
	}
}

struct reader {
	void (*each)(void *context, const struct link_facts *link);
	void *context;
};

static void take_text(char *to, size_t size, const struct nlattr *attribute)
{
	snprintf(to, size, "%.*s", (int)mnl_attr_get_payload_len(attribute), mnl_attr_get_str(attribute));
}

static void take_vlan(struct link_facts *l, const struct nlattr *data)
{
	struct nlattr *a;

	mnl_attr_for_each_nested(a, data)
	{
		if (mnl_attr_get_type(a) == IFLA_VLAN_ID)
			l->vlan = mnl_attr_get_u16(a);
	}
}

static void take_info(struct link_facts *l, const struct nlattr *info)
{
	struct nlattr *a;

	mnl_attr_for_each_nested(a, info)
	{
		if (mnl_attr_get_type(a) == IFLA_INFO_KIND)
			take_text(l->kind, sizeof(l->kind), a);
		else if (mnl_attr_get_type(a) == IFLA_INFO_SLAVE_KIND)
			take_text(l->port_kind, sizeof(l->port_kind), a);
		else if (mnl_attr_get_type(a) == IFLA_INFO_DATA && !strcmp(l->kind, "vlan"))
			take_vlan(l, a);
	}
}

static void take_xdp(struct link_facts *l, const struct nlattr *xdp)
{
	struct nlattr *a;

	mnl_attr_for_each_nested(a, xdp)
	{
		if (mnl_attr_get_type(a) == IFLA_XDP_ATTACHED)
			l->xdp_mode = mnl_attr_get_u8(a);
		else if (mnl_attr_get_type(a) == IFLA_XDP_PROG_ID)
			l->xdp_program = mnl_attr_get_u32(a);
	}
}

/* Older kernels say less of it than this one's header knows. */
static void take_counters(struct link_facts *l, const struct nlattr *attribute)
{
	struct rtnl_link_stats64 s = {0};
	size_t size = mnl_attr_get_payload_len(attribute);

	memcpy(&s, mnl_attr_get_payload(attribute), size < sizeof(s) ? size : sizeof(s));
	l->rx_packets = s.rx_packets;
	l->rx_dropped = s.rx_dropped;
	l->rx_errors = s.rx_errors;
}

static void take_attribute(struct link_facts *l, const struct nlattr *a)
{
	switch (mnl_attr_get_type(a)) {
	case IFLA_IFNAME:
		take_text(l->name, sizeof(l->name), a);
		break;
	case IFLA_MASTER:
		l->master = mnl_attr_get_u32(a);
		break;
	case IFLA_LINK:
		l->lower = mnl_attr_get_u32(a);
		break;
	case IFLA_LINK_NETNSID:
		l->lower_elsewhere = true;
		break;
	case IFLA_MTU:
		l->mtu = mnl_attr_get_u32(a);
		break;
	case IFLA_NUM_TX_QUEUES:
		l->tx_queues = mnl_attr_get_u32(a);
		break;
	case IFLA_NUM_RX_QUEUES:
		l->rx_queues = mnl_attr_get_u32(a);
		break;
	case IFLA_PROMISCUITY:
		l->promiscuous |= mnl_attr_get_u32(a) != 0;
		break;
	case IFLA_ALLMULTI:
		l->all_multicast |= mnl_attr_get_u32(a) != 0;
		break;
	case IFLA_STATS64:
		take_counters(l, a);
		break;
	case IFLA_LINKINFO:
		take_info(l, a);
		break;
	case IFLA_XDP:
		take_xdp(l, a);
		break;
	default:
		break;
	}
}

static int take_message(const struct nlmsghdr *message, void *context)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	const struct reader *r = context;
	struct link_facts l = {0};
	struct nlattr *a;

	if (message->nlmsg_type != RTM_NEWLINK || mnl_nlmsg_get_payload_len(message) < sizeof(*info))
		return MNL_CB_OK;
	l.ifindex = (uint32_t)info->ifi_index;
	l.type = info->ifi_type;
	l.up = info->ifi_flags & IFF_UP;
	l.carrier = info->ifi_flags & IFF_LOWER_UP;
	l.promiscuous = info->ifi_flags & IFF_PROMISC;
	l.all_multicast = info->ifi_flags & IFF_ALLMULTI;
	mnl_attr_for_each(a, message, sizeof(*info))
	{
		take_attribute(&l, a);
	}
	r->each(r->context, &l);
	return MNL_CB_OK;
}

int link_facts_each(void (*each)(void *context, const struct link_facts *link), void *context)
{
	struct reader r = {each, context};
	void *room = malloc(NETLINK_ROOM);
	struct nlmsghdr *message;
	int err;

	if (!room)
		return -ENOMEM;
	message = mnl_nlmsg_put_header(room);
	message->nlmsg_type = RTM_GETLINK;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	mnl_nlmsg_put_extra_header(message, sizeof(struct ifinfomsg));
	err = netlink_ask(NETLINK_ROUTE, message, take_message, &r);
	free(room);
	return err;
}

static void take_one(void *context, const struct link_facts *link)
{
	struct link_facts *wanted = context;

	if (link->ifindex == wanted->ifindex)
		*wanted = *link;
}

int link_facts_of(uint32_t ifindex, struct link_facts *link)
{
	int err;

	*link = (struct link_facts){.ifindex = ifindex};
	err = link_facts_each(take_one, link);
	return err ? err : *link->name ? 0 : -ENODEV;
}
