// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Capture files, for tcpdump and Wireshark.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "ether/frame.h"
#include "ether/pcap.h"
#include "virtio/mem.h"

#define PCAP_MAGIC_NS		0xa1b23c4d
#define PCAP_LINKTYPE_ETHERNET	1
#define PCAP_SNAPLEN		65536

struct pcap_file_header {
	uint32_t magic;
	uint16_t version_major;
	uint16_t version_minor;
	uint32_t zone;
	uint32_t sigfigs;
	uint32_t snaplen;
	uint32_t linktype;
};

_Static_assert(sizeof(struct pcap_file_header) == 24, "pcap file header");

struct pcap_record {
	uint32_t sec;
	uint32_t nsec;
	uint32_t caplen;
	uint32_t len;
	uint8_t data[PCAP_SNAPLEN];
};

/**
 * struct pcap - a capture file
 * @fd:		its descriptor, or -1 after an error
 * @record:	the record being written
 */
struct pcap {
	int fd;
	struct pcap_record record;
};

struct pcap *pcap_open(const char *path)
{
	const struct pcap_file_header header = {
		.magic = PCAP_MAGIC_NS,
		.version_major = 2,
		.version_minor = 4,
		.snaplen = PCAP_SNAPLEN,
		.linktype = PCAP_LINKTYPE_ETHERNET,
	};
	struct pcap *pcap = calloc(1, sizeof(*pcap));
	int err;

	if (!pcap)
		return NULL;
	pcap->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (pcap->fd < 0)
		goto err_free;
	if (write(pcap->fd, &header, sizeof(header)) != sizeof(header))
		goto err_close;
	return pcap;

err_close:
	err = errno;
	close(pcap->fd);
	errno = err;
err_free:
	free(pcap);
	return NULL;
}

struct pcap *pcap_take(int fd)
{
	struct pcap *pcap = calloc(1, sizeof(*pcap));

	if (pcap)
		pcap->fd = fd;
	return pcap;
}

int pcap_fd(const struct pcap *pcap)
{
	return pcap ? pcap->fd : -1;
}

void pcap_close(struct pcap *pcap)
{
	if (pcap->fd >= 0)
		close(pcap->fd);
	free(pcap);
}

void pcap_write(struct pcap *pcap, const struct frame *frame)
{
	struct pcap_record *record = &pcap->record;
	struct timespec ts;
	ssize_t len;

	if (pcap->fd < 0)
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	record->sec = ts.tv_sec;
	record->nsec = ts.tv_nsec;
	record->len = frame->len;
	record->caplen = iov_to_buf(frame->iov, frame->iov_n, frame->off,
				    record->data,
				    frame->len < PCAP_SNAPLEN ?
				    frame->len : PCAP_SNAPLEN);

	len = offsetof(struct pcap_record, data) + record->caplen;
	if (write(pcap->fd, record, len) == len)
		return;
	log_error("the capture ends here: %s", strerror(errno));
	close(pcap->fd);
	pcap->fd = -1;
}
