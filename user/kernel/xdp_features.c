// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "kernel/xdp_features.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kernel/netlink.h"

/* linux/netdev.h, which came with 6.3: newer than the headers of the distributions this is built on. */
enum { NETDEV_DEV_GET = 1 };
enum { NETDEV_IFINDEX = 1, NETDEV_XDP_FEATURES = 3 };

struct answer {
	int wanted; /* attribute */
	size_t size; /* of its value */
	bool found;
	uint64_t value;
};

static int take_message(const struct nlmsghdr *message, void *context)
{
	struct answer *answer = context;
	struct nlattr *a;

	mnl_attr_for_each(a, message, sizeof(struct genlmsghdr))
	{
		if (mnl_attr_get_type(a) != answer->wanted || mnl_attr_get_payload_len(a) < answer->size)
			continue;
		answer->found = true;
		answer->value = answer->size == sizeof(uint64_t) ? mnl_attr_get_u64(a) : mnl_attr_get_u16(a);
	}
	return MNL_CB_OK;
}

static struct nlmsghdr *begin(void *room, uint16_t family, uint8_t command)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(room);
	struct genlmsghdr *generic;

	message->nlmsg_type = family;
	message->nlmsg_flags = NLM_F_REQUEST;
	generic = mnl_nlmsg_put_extra_header(message, sizeof(*generic));
	generic->cmd = command;
	generic->version = 1;
	return message;
}

static int ask(struct nlmsghdr *message, struct answer *answer)
{
	int err = netlink_ask(NETLINK_GENERIC, message, take_message, answer);

	return err ? err : answer->found ? 0 : -ENOENT;
}

int xdp_features_read(uint32_t ifindex, uint64_t *features)
{
	struct answer family = {.wanted = CTRL_ATTR_FAMILY_ID, .size = sizeof(uint16_t)};
	struct answer device = {.wanted = NETDEV_XDP_FEATURES, .size = sizeof(uint64_t)};
	void *room = malloc(NETLINK_ROOM);
	struct nlmsghdr *message;
	int err;

	if (!room)
		return -ENOMEM;
	message = begin(room, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	mnl_attr_put_strz(message, CTRL_ATTR_FAMILY_NAME, "netdev");
	err = ask(message, &family);
	if (!err) {
		message = begin(room, (uint16_t)family.value, NETDEV_DEV_GET);
		mnl_attr_put_u32(message, NETDEV_IFINDEX, ifindex);
		err = ask(message, &device);
	}
	free(room);
	if (!err)
		*features = device.value;
	return err;
}
