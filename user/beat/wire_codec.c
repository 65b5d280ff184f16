/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "beat/wire_codec.h"

#include <endian.h>
#include <errno.h>
#include <kphi/siphash.h>
#include <string.h>

static uint32_t bits_of(float value)
{
	uint32_t bits;

	_Static_assert(sizeof(bits) == sizeof(value), "the wire carries IEEE 754 single precision");
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

void wire_encode(const struct wire_message *message, uint8_t bytes[sizeof(struct kphi_wire)])
{
	struct kphi_wire wire = {
		.magic = htobe32(KPHI_WIRE_MAGIC),
		.version = KPHI_WIRE_VERSION,
		.type = (uint8_t)message->type,
		.flags = htobe16(message->flags),
		.length = htobe16(sizeof(wire)),
		.key_id = htobe32(message->key_id),
		.epoch = htobe64(message->epoch),
		.sequence = htobe64(message->sequence),
		.timestamp_ms = htobe64(message->timestamp_ms),
		.load_average = htobe32(bits_of(message->load_average)),
		.available_capacity = htobe32(bits_of(message->available_capacity)),
		.cluster_version = htobe64(message->cluster_version),
		.ack_sequence = htobe64(message->ack_sequence),
		.tag = htobe64(message->tag),
	};

	memcpy(wire.node_id, message->node_id, sizeof(wire.node_id));
	memcpy(bytes, &wire, sizeof(wire));
}

void wire_sign(uint8_t bytes[sizeof(struct kphi_wire)], const struct key *key)
{
	struct kphi_wire wire;

	memcpy(&wire, bytes, sizeof(wire));
	wire.flags |= htobe16(KPHI_WIRE_SIGNED);
	wire.key_id = htobe32(key->id);
	wire.tag = htobe64(kphi_wire_tag(&wire, key->word));
	memcpy(bytes, &wire, sizeof(wire));
}

static int check(const struct kphi_wire *wire, size_t size)
{
	if (be32toh(wire->magic) != KPHI_WIRE_MAGIC)
		return -EBADMSG;
	if (wire->version != KPHI_WIRE_VERSION)
		return -EPROTONOSUPPORT;
	if (be16toh(wire->length) < sizeof(*wire) || be16toh(wire->length) > size)
		return -EMSGSIZE;
	if (wire->type < KPHI_WIRE_BEAT || wire->type > KPHI_WIRE_REPLY || wire->sequence == 0)
		return -ENOMSG;
	return 0;
}

int wire_decode(const void *bytes, size_t size, struct wire_message *message)
{
	struct kphi_wire wire;
	int err;

	if (size < sizeof(wire))
		return -EMSGSIZE;
	memcpy(&wire, bytes, sizeof(wire));
	err = check(&wire, size);
	if (err)
		return err;

	*message = (struct wire_message){
		.type = (enum kphi_wire_type)wire.type,
		.flags = be16toh(wire.flags),
		.key_id = be32toh(wire.key_id),
		.epoch = be64toh(wire.epoch),
		.sequence = be64toh(wire.sequence),
		.timestamp_ms = be64toh(wire.timestamp_ms),
		.load_average = float_of(be32toh(wire.load_average)),
		.available_capacity = float_of(be32toh(wire.available_capacity)),
		.cluster_version = be64toh(wire.cluster_version),
		.ack_sequence = be64toh(wire.ack_sequence),
		.tag = be64toh(wire.tag),
	};
	memcpy(message->node_id, wire.node_id, sizeof(message->node_id));
	return 0;
}
