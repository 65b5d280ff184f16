// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/links.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "kernel/netlink.h"

struct links {
	struct mnl_socket *socket;
	char room[NETLINK_ROOM];
};

struct reader {
	void (*each)(void *context, const struct link_news *news);
	void *context;
};

static int take_message(const struct nlmsghdr *message, void *context)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	const struct reader *r = context;
	struct link_news news = {.name = ""};
	struct nlattr *attribute;

	if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK)
		return MNL_CB_OK;
	/* A port that leaves a bridge is a "deleted link" of family AF_BRIDGE, and lives on. */
	if (mnl_nlmsg_get_payload_len(message) < sizeof(*info) || info->ifi_family != AF_UNSPEC)
		return MNL_CB_OK;
	mnl_attr_for_each(attribute, message, sizeof(*info))
	{
		if (mnl_attr_get_type(attribute) == IFLA_IFNAME)
			news.name = mnl_attr_get_str(attribute);
		else if (mnl_attr_get_type(attribute) == IFLA_MASTER)
			news.master = mnl_attr_get_u32(attribute);
	}
	news.ifindex = (uint32_t)info->ifi_index;
	news.gone = message->nlmsg_type == RTM_DELLINK;
	news.up = info->ifi_flags & IFF_UP;
	news.carrier = info->ifi_flags & IFF_LOWER_UP;
	r->each(r->context, &news);
	return MNL_CB_OK;
}

struct links *links_open(void)
{
	struct links *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return NULL;
	l->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (l->socket && !mnl_socket_bind(l->socket, RTMGRP_LINK, MNL_SOCKET_AUTOPID))
		return l;
	err = errno;
	links_close(l);
	errno = err;
	return NULL;
}

void links_close(struct links *l)
{
	if (!l)
		return;
	if (l->socket)
		mnl_socket_close(l->socket);
	free(l);
}

int links_fd(const struct links *l)
{
	return mnl_socket_get_fd(l->socket);
}

int links_read(struct links *l, void (*each)(void *context, const struct link_news *news), void *context)
{
	struct reader r = {each, context};
	ssize_t size;

	for (;;) {
		size = mnl_socket_recvfrom(l->socket, l->room, sizeof(l->room));
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return errno == EAGAIN ? 0 : -errno;
		/* News have no sequence number and are from the kernel: 0 and 0 check neither. */
		if (mnl_cb_run(l->room, (size_t)size, 0, 0, take_message, &r) < 0)
			return -errno;
	}
}

/* `ifindex` 0: all of them. */
static int ask(uint32_t ifindex, struct reader *r)
{
	void *room = malloc(NETLINK_ROOM);
	struct nlmsghdr *message;
	struct ifinfomsg *info;
	int err;

	if (!room)
		return -ENOMEM;
	message = mnl_nlmsg_put_header(room);
	message->nlmsg_type = RTM_GETLINK;
	message->nlmsg_flags = ifindex ? NLM_F_REQUEST : NLM_F_REQUEST | NLM_F_DUMP;
	info = mnl_nlmsg_put_extra_header(message, sizeof(*info));
	info->ifi_family = AF_UNSPEC;
	info->ifi_index = (int)ifindex;
	mnl_attr_put_u32(message, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	err = netlink_ask(NETLINK_ROUTE, message, take_message, r);
	free(room);
	return err;
}

int links_ask(uint32_t ifindex, void (*each)(void *context, const struct link_news *news), void *context)
{
	struct link_news gone = {.ifindex = ifindex, .name = "", .gone = true};
	struct reader r = {each, context};
	int err = ask(ifindex, &r);

	if (err != -ENODEV)
		return err;
	each(context, &gone);
	return 0;
}

int links_dump(void (*each)(void *context, const struct link_news *news), void *context)
{
	struct reader r = {each, context};

	return ask(0, &r);
}
