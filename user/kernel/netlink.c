// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/netlink.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

static ssize_t receive(struct mnl_socket *socket, void *room)
{
	ssize_t size;

	do
		size = mnl_socket_recvfrom(socket, room, NETLINK_ROOM);
	while (size < 0 && errno == EINTR);
	return size;
}

/* A single answer ends by itself; a dump ends with a message that says so. */
static int converse(struct mnl_socket *socket, struct nlmsghdr *message, mnl_cb_t each, void *context)
{
	bool dump = (message->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	int more;

	if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) ||
	    mnl_socket_sendto(socket, message, message->nlmsg_len) < 0)
		return -errno;
	do {
		ssize_t size = receive(socket, message);

		if (size < 0)
			return -errno;
		more = mnl_cb_run(message, (size_t)size, 0, mnl_socket_get_portid(socket), each, context);
		if (more == MNL_CB_ERROR)
			return -errno;
	} while (dump && more > MNL_CB_STOP);
	return 0;
}

int netlink_ask(int protocol, struct nlmsghdr *message, mnl_cb_t each, void *context)
{
	struct mnl_socket *socket = mnl_socket_open2(protocol, SOCK_CLOEXEC);
	int err = socket ? converse(socket, message, each, context) : -errno;

	if (socket)
		mnl_socket_close(socket);
	return err;
}
