/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Capture files, for tcpdump and Wireshark.
 */
#ifndef DEVICE_PCAP_H
#define DEVICE_PCAP_H

struct pcap;
struct frame;

/**
 * pcap_open() - make a capture file, or replace it
 * @path:	its name
 *
 * Return: the file, or NULL with errno set.
 */
struct pcap *pcap_open(const char *path);

/** pcap_take() - go on with a capture file, whose descriptor is taken over; NULL: no memory */
struct pcap *pcap_take(int fd);

/** pcap_fd() - its descriptor, or -1 after an error; @pcap may be NULL */
int pcap_fd(const struct pcap *pcap);

/** pcap_close() - close a capture file */
void pcap_close(struct pcap *pcap);

/**
 * pcap_write() - append a frame
 * @pcap:	capture file
 * @frame:	frame
 *
 * Each frame is in the file when the call returns.  If it cannot be written
 * that is reported and the capture ends there.
 */
void pcap_write(struct pcap *pcap, const struct frame *frame);

#endif /* DEVICE_PCAP_H */
