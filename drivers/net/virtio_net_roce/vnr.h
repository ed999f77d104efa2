/* SPDX-License-Identifier: GPL-2.0 */
/*
 * virtio_net_roce: internal interfaces, file by file.
 */
#ifndef _VNR_H
#define _VNR_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include <linux/virtio_pci_modern.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "virtio_net_roce.h"
#include "virtio_net_roce_aux.h"

struct vnr_dev;
struct vnr_ctrl_cmd;

/* ----- vnr_detect.c: is a function a RoCE device? ----- */

/**
 * struct vnr_offer - what a virtio-net function says about itself
 * @features: offered feature bits
 * @config_len: bytes of its device configuration space
 * @max_pairs: max_virtqueue_pairs, used if MQ or RSS is offered
 * @max_qps: max_rdma_qps, used if @config_len covers it
 * @max_cqs: max_rdma_cqs, used if @config_len covers it
 * @num_queues: number of virtqueues
 * @event_vqs: number of event virtqueues; 0 if the device cannot have as many
 * @doorbell_vqs: number of doorbell virtqueues, likewise
 */
struct vnr_offer {
	u64 features;
	size_t config_len;
	u16 max_pairs;
	u32 max_qps;
	u32 max_cqs;
	u16 num_queues;
	u16 event_vqs;
	u16 doorbell_vqs;
};

const char *vnr_offer_refused(const struct vnr_offer *offer);
u64 vnr_child_features(u64 offered);
void vnr_offer_rings(struct vnr_offer *offer, u16 event_vqs, u16 doorbell_vqs);
void vnr_offer_read(struct virtio_pci_modern_device *mdev,
		    struct vnr_offer *offer);
bool vnr_offer_peek(struct pci_dev *pdev, u64 features,
		    struct vnr_offer *offer);

/* ----- vnr_ctrl.c: the control queue ----- */

/**
 * enum vnr_ctrl_class - which descriptors of the control queue a command may use
 * @VNR_CTRL_PROXY: a command of virtio_net: all descriptors
 * @VNR_CTRL_URGENT: a command whose caller must not sleep: all that are not reserved
 *	for virtio_net
 * @VNR_CTRL_ORDINARY: any other command: all that are not reserved
 * @VNR_CTRL_CLASSES: number of them
 */
enum vnr_ctrl_class {
	VNR_CTRL_PROXY,
	VNR_CTRL_URGENT,
	VNR_CTRL_ORDINARY,
	VNR_CTRL_CLASSES,
};

/**
 * struct vnr_ctrl - the function's control queue and the child's shadow of it
 * @vq: real control queue; NULL while the child has no queues
 * @lock: serialises @vq and guards @dead, @drained, @waiting and @sent
 * @dead: a command was not answered; the device owns its memory until reset
 * @drained: the device was reset and has no commands any more
 * @reserve: descriptors that a command of each class must leave free
 * @waiting: commands that wait for room, oldest first
 * @sent: commands that wait for an answer, in the order in which they were sent
 * @indirect: VIRTIO_F_INDIRECT_DESC was negotiated
 * @timeout: jiffies that the device may take for a command
 * @atomic_us: the same in microseconds, for a command whose caller must not sleep
 * @stall_ns: nanoseconds that an Ethernet command may take
 * @max_part: bytes of the longest piece of a request
 * @big: bounds the long commands in flight
 * @shadow_vdev: virtio device of @shadow; never registered
 * @shadow: the virtqueue that the child uses as its control queue
 * @shadow_lock: guards the rest
 * @journal: commands of virtio_net that a device which was reset is sent again, oldest
 *	first; see vnr_journal.c
 * @replaying: they are being sent
 * @shadow_avail: next entry of the shadow's available ring
 * @shadow_used: entries in the shadow's used ring
 * @proxied: child's commands that wait for an answer
 * @stall: expires when the device does not answer them
 * @stall_work: then answers in place of the device
 */
struct vnr_ctrl {
	struct virtqueue *vq;
	spinlock_t lock; /* vq, dead, drained, waiting, sent */
	bool dead;
	bool drained;
	unsigned int reserve[VNR_CTRL_CLASSES];
	struct list_head waiting[VNR_CTRL_CLASSES];
	struct list_head sent;
	bool indirect;
	unsigned long timeout;
	unsigned int atomic_us;
	u64 stall_ns;
	size_t max_part;
	struct semaphore big;

	struct virtio_device shadow_vdev;
	struct virtqueue *shadow;
	spinlock_t shadow_lock; /* all below */
	struct list_head journal;
	bool replaying;
	u16 shadow_avail;
	u16 shadow_used;
	struct list_head proxied;
	struct hrtimer stall;
	struct irq_work stall_work;
};

void vnr_ctrl_init(struct vnr_dev *dev);
int vnr_ctrl_setup(struct vnr_dev *dev, u16 index, const char *name,
		   vq_callback_t *callback);
void vnr_ctrl_teardown(struct vnr_dev *dev);
int vnr_ctrl_attach(struct vnr_dev *dev, struct virtqueue *vq, const char *name,
		    vq_callback_t *callback);
struct virtqueue *vnr_ctrl_detach(struct vnr_dev *dev);
void vnr_ctrl_plug(struct vnr_dev *dev, struct virtqueue *vq);
struct virtqueue *vnr_ctrl_unplug(struct vnr_dev *dev);
void vnr_ctrl_interrupt(struct virtqueue *vq);
void vnr_ctrl_abandon(struct vnr_dev *dev);
bool vnr_ctrl_is_small(unsigned int num);
size_t vnr_ctrl_max_req(struct vnr_dev *dev);
int vnr_ctrl_exec(struct vnr_dev *dev, struct virtio_net_roce_cmd *cmd);

/* ----- vnr_arm.c: notifications for kernel consumers ----- */

struct vnr_arm;

struct vnr_arm *vnr_arm_create(struct vnr_dev *dev, u32 cqn);
void vnr_arm_destroy(struct vnr_arm *arm);
int vnr_arm_request(struct vnr_arm *arm, bool solicited_only);
unsigned long vnr_arm_delay(void);

/* ----- vnr_queue.c: virtqueues, vectors, interrupts ----- */

/**
 * struct vnr_cq - interrupt side of a completion queue
 * @notify: to be called, NULL while the CQ is not in use
 * @data: for @notify
 * @arm: command by which a kernel consumer's CQ asks for notifications, else NULL
 * @arm_idx: used index when the CQ was armed
 * @hold: the device holds completions that find no slot
 */
struct vnr_cq {
	void (*notify)(void *data);
	void *data;
	struct vnr_arm *arm;
	u16 arm_idx;
	bool hold;
};

/**
 * struct vnr_doorbell - the doorbell of a virtqueue
 * @reg: register, NULL if it is not mapped
 * @phys: its physical address
 */
struct vnr_doorbell {
	void __iomem *reg;
	resource_size_t phys;
};

/**
 * struct vnr_rdma_queue - a RoCE virtqueue, with data that only this module needs
 * @pub: what the RDMA driver sees
 * @dma: device addresses of descriptor table, available and used ring
 * @desc_len: bytes of the descriptor table
 * @bell: its doorbell
 */
struct vnr_rdma_queue {
	struct virtio_net_roce_vq pub;
	dma_addr_t dma[3];
	size_t desc_len;
	struct vnr_doorbell bell;
};

/**
 * struct vnr_vector - one MSI-X vector and what it serves
 * @dev: back pointer
 * @irq: Linux interrupt number
 * @requested: request_irq() succeeded
 * @name: for /proc/interrupts
 * @config: serves configuration changes
 * @first: first of the virtqueues of @dev->vqs that it serves
 * @last: one more than the last of them
 * @cq_first: first CQ that it serves, -1 for none
 * @event_first: first event virtqueue that it serves, -1 for none
 * @mask: processors that virtio_net wishes for it
 */
struct vnr_vector {
	struct vnr_dev *dev;
	int irq;
	bool requested;
	char name[32];
	bool config;
	unsigned int first;
	unsigned int last;
	int cq_first;
	int event_first;
	cpumask_t mask;
};

int vnr_vectors_setup(struct vnr_dev *dev, struct irq_affinity *desc);
int vnr_vectors_renew(struct vnr_dev *dev);
void vnr_vectors_teardown(struct vnr_dev *dev);
void vnr_vectors_synchronize(struct vnr_dev *dev);
void vnr_vectors_plan(struct vnr_dev *dev, unsigned int n);
int vnr_vq_vector(struct vnr_dev *dev, unsigned int i);
int vnr_cq_vector(struct vnr_dev *dev, u32 cqn);
int vnr_event_vector(struct vnr_dev *dev, unsigned int e);
bool vnr_cq_look(struct vnr_dev *dev, u32 cqn);
u16 vnr_queue_size(struct vnr_dev *dev, u16 index);
struct virtqueue *vnr_vq_make(struct vnr_dev *dev, u16 index, int vector,
			      vq_callback_t *callback, const char *name,
			      bool ctx);
int vnr_vq_show(struct vnr_dev *dev, struct virtqueue *vq, int vector);
void vnr_vq_drop(struct vnr_dev *dev, struct virtqueue *vq);
struct virtqueue *vnr_vq_create(struct vnr_dev *dev, u16 index,
				vq_callback_t *callback, const char *name,
				bool ctx);
void vnr_vq_destroy(struct vnr_dev *dev, struct virtqueue *vq);
void vnr_vq_ring(struct virtqueue *vq);
int vnr_rdma_queues_setup(struct vnr_dev *dev, u16 first);
void vnr_rdma_queues_teardown(struct vnr_dev *dev);
void vnr_config_work(struct work_struct *work);

/* ----- vnr_event.c: event virtqueues ----- */

/**
 * struct vnr_event_queue - an event virtqueue
 * @lock: guards @vq, which the interrupt handler and a work item read
 * @vq: the virtqueue; NULL while there is none
 * @bufs: its buffers, one for each descriptor
 */
struct vnr_event_queue {
	spinlock_t lock; /* vq */
	struct virtqueue *vq;
	struct virtio_rdma_event *bufs;
};

int vnr_events_setup(struct vnr_dev *dev, u16 first);
void vnr_events_teardown(struct vnr_dev *dev);
bool vnr_events_interrupt(struct vnr_vector *v);
void vnr_events_work(struct work_struct *work);
void vnr_events_synchronize(struct vnr_dev *dev);

/* ----- vnr_doorbell.c: doorbells, and which of them processes may map ----- */

void vnr_doorbells_init(struct vnr_dev *dev);
void vnr_doorbells_exit(struct vnr_dev *dev);
void __iomem *vnr_doorbell_io(struct vnr_dev *dev, u16 index,
			      resource_size_t *phys);
int vnr_doorbell_map(struct vnr_dev *dev, u16 index, struct vnr_doorbell *bell);
void vnr_doorbell_unmap(struct vnr_dev *dev, struct vnr_doorbell *bell);
void vnr_doorbells_give(struct vnr_dev *dev);

/* ----- vnr_child.c: the virtio device that stock virtio_net drives ----- */

/**
 * struct vnr_child - the child device; freed when its last reference goes
 * @vdev: the device
 * @dev: back pointer; valid while the child is registered
 * @unread: the status may have changed since its driver has read it last
 */
struct vnr_child {
	struct virtio_device vdev;
	struct vnr_dev *dev;
	bool unread;
};

u8 vnr_status(struct vnr_dev *dev);
int vnr_child_take_features(struct vnr_dev *dev, u64 offered);
void vnr_child_run(struct vnr_dev *dev);
void vnr_child_changed(struct vnr_dev *dev);
void vnr_child_remind(struct vnr_dev *dev);
#if IS_ENABLED(CONFIG_KUNIT)
dma_addr_t vnr_dma_map(struct vnr_dev *dev, struct page *page);
void vnr_dma_unmap(struct vnr_dev *dev, struct page *page, dma_addr_t dma);
#endif
int vnr_child_add(struct vnr_dev *dev);
void vnr_child_del(struct vnr_dev *dev);

/* ----- vnr_life.c: life, death and recovery ----- */

/**
 * enum vnr_state - state of a function
 * @VNR_QUIESCED: the device has no objects or commands of ours and touches no memory:
 *	it was reset, or cannot reach memory, or is gone, or was not started yet
 * @VNR_STARTING: its virtqueues exist
 * @VNR_RUNNING: DRIVER_OK was set, too, so doorbells reach the device
 * @VNR_LOST: the device has no RDMA objects any more, serves Ethernet, and waits for a reset
 * @VNR_DEAD: the device does not answer, but may still touch memory
 * @VNR_STATES: number of states
 */
enum vnr_state {
	VNR_QUIESCED,
	VNR_STARTING,
	VNR_RUNNING,
	VNR_LOST,
	VNR_DEAD,
	VNR_STATES,
};

/**
 * struct vnr_life - state and recovery of a function
 * @lock: guards @state, and @silent, @heard, @pending and @mute when it changes
 * @state: state, which vnr_state_set() in vnr_life.c alone writes
 * @wait: woken when @state has changed
 * @reset: serialises resets of the function
 * @silent: it died because it did not answer
 * @heard: there was a sign of life since it died
 * @mute: the driver must not access what the backend would have to answer
 * @link: while it is mute virtio_net reads that its link is up, as it was; set before @mute
 * @stopped: recovery is stopped for now
 * @leaving: it is stopped, and its caller takes the function down
 * @stuck: then quiescing the function has failed; guarded by @reset
 * @pending: it is quiesced, and has to be restarted
 * @soon: the next question is to be sent at once
 * @answers: the device has answered QUERY_PORT before
 * @answered: it has done so since it was started
 * @question: last question sent to the device, or NULL
 * @asked: when @question was sent
 * @restarted: when it was last restarted
 * @backoff_ms: how long the last restart was delayed
 * @reset_ms: how long the function may take to report that it was reset
 * @grace_ms: how long a silent function has before it is reset
 * @settle_ms: how long a command with memory at stake waits for the reset
 * @lost_ms: how long at most a lost function waits for its reset
 * @ask_ms: how long a caller that takes the function down waits for an answer
 * @watch_ms: period of @watch
 * @first_ms: how long after a start @watch asks for the first time
 * @watch: checks the function while it runs
 * @recover: takes a dead function through quiesce and restart
 */
struct vnr_life {
	spinlock_t lock; /* state and what changes with it */
	enum vnr_state state;
	wait_queue_head_t wait;
	struct mutex reset; /* the function's status register */
	bool silent;
	bool heard;
	bool mute;
	bool link;
	bool stopped;
	bool leaving;
	bool stuck;
	bool pending;
	bool soon;
	bool answers;
	bool answered;
	struct vnr_ctrl_cmd *question;
	unsigned long asked;
	unsigned long restarted;
	unsigned int backoff_ms;
	unsigned int reset_ms;
	unsigned int grace_ms;
	unsigned int settle_ms;
	unsigned int lost_ms;
	unsigned int ask_ms;
	unsigned int watch_ms;
	unsigned int first_ms;
	struct delayed_work watch;
	struct delayed_work recover;
};

void vnr_life_init(struct vnr_dev *dev);
enum vnr_state vnr_life_state(struct vnr_dev *dev);
bool vnr_life_lives(struct vnr_dev *dev);
bool vnr_life_change(struct vnr_dev *dev, enum vnr_state to);
void vnr_life_run(struct vnr_dev *dev);
void vnr_life_go_live(struct vnr_dev *dev);
bool vnr_life_unmute(struct vnr_dev *dev);
void vnr_life_die(struct vnr_dev *dev, bool silent);
bool vnr_life_lose(struct vnr_dev *dev);
bool vnr_life_pause(struct vnr_dev *dev, bool link);
void vnr_life_heard(struct vnr_dev *dev);
void vnr_life_answered(struct vnr_dev *dev);
enum virtio_net_roce_event vnr_life_event(struct vnr_dev *dev);
int vnr_life_quiesce(struct vnr_dev *dev);
int vnr_life_wait_quiesced(struct vnr_dev *dev);
int vnr_life_exec(struct vnr_dev *dev, struct virtio_net_roce_cmd *cmd);

/* ----- vnr_recover.c: recovery of a function that died ----- */

void vnr_recover_init(struct vnr_dev *dev);
void vnr_recover_begin(struct vnr_dev *dev);
void vnr_recover_watch(struct vnr_dev *dev);
void vnr_recover_look(struct vnr_dev *dev);
void vnr_recover_stop(struct vnr_dev *dev);
void vnr_recover_go_on(struct vnr_dev *dev, bool restart);
int vnr_recover_take_down(struct vnr_dev *dev);
bool vnr_recover_answers(struct vnr_dev *dev);
void vnr_recover_refused(struct vnr_dev *dev);
int vnr_recover_restart(struct vnr_dev *dev);

/* ----- vnr_restart.c: a quiesced function is started again in place ----- */

/**
 * enum vnr_renew - what becomes of virtio_net's rings
 * @VNR_RENEW_NOT: virtio_net may not replace a ring
 * @VNR_RENEW_ASIDE: it gets rings that the device does not know
 * @VNR_RENEW_SHOW: it gets rings that are shown to the device
 */
enum vnr_renew {
	VNR_RENEW_NOT,
	VNR_RENEW_ASIDE,
	VNR_RENEW_SHOW,
};

int vnr_restart_disable_vq(struct virtqueue *vq);
int vnr_restart_enable_vq(struct virtqueue *vq);
int vnr_restart(struct vnr_dev *dev);

/* ----- vnr_rdma.c: the auxiliary device ----- */

int vnr_rdma_init(struct vnr_dev *dev);
void vnr_rdma_exit(struct vnr_dev *dev);
void vnr_rdma_start(struct vnr_dev *dev);
void vnr_rdma_stop(struct vnr_dev *dev);
void vnr_rdma_drop(struct vnr_dev *dev);
void vnr_rdma_tell(struct vnr_dev *dev);

/* ----- vnr_takeover.c: from virtio_pci and back ----- */

int vnr_takeover_init(struct pci_driver *driver);
void vnr_takeover_exit(void);
void vnr_takeover_silent(struct pci_dev *pdev, bool silent);
#if IS_ENABLED(CONFIG_KUNIT)
bool vnr_is_candidate(struct pci_dev *pdev);
bool vnr_failed_before(struct pci_dev *pdev);
bool vnr_was_silent(struct pci_dev *pdev);
bool vnr_wants_takeover(struct pci_dev *pdev);
#endif

/* ----- vnr_main.c ----- */

#if IS_ENABLED(CONFIG_KUNIT)
extern const struct pci_error_handlers vnr_error_handlers;
#endif

/**
 * struct vnr_dev - a RoCE function
 * @mdev: the modern virtio PCI device
 * @offer: what it offered at probe
 * @child: child device
 * @life: state and recovery
 * @ctrl: control queue
 *
 * @roce: VIRTIO_NET_F_ROCE was acknowledged for the child's current driver
 * @has_ctrl: its last virtqueue is the control queue
 * @event_idx: VIRTIO_F_RING_EVENT_IDX was acknowledged
 * @vqs: virtqueues with a struct virtqueue: Ethernet, then the real control
 *	queue; entries may be NULL
 * @nvqs: length of @vqs
 * @queues: RoCE virtqueues: CQs, then send and receive queue of each QP, then doorbell
 *	virtqueues
 * @nqueues: length of @queues
 * @doorbell_pages: number of queues whose doorbell is in a page, by page
 * @vectors: MSI-X vectors
 * @vectors_roce: they were shared out for RoCE, too
 * @nvectors: length of @vectors
 * @cq_step: CQ n is served by the vector whose cq_first is n modulo this
 * @event_step: event virtqueue n likewise, by event_first
 * @events: event virtqueues, NULL if there are none
 * @nevents: length of @events
 * @events_work: reads events that were too many for the interrupt handler
 * @notify: what the RDMA driver has called for each event, or NULL
 * @notify_aux: its argument
 *
 * @cqs: interrupt side of the CQs
 * @armed: bit per CQ that waits for a notification
 * @config_generation: generation of the configuration that the child was told about
 * @config_work: checks whether a shared interrupt hid a configuration change
 *
 * @aux_lock: serialises start and stop of the auxiliary device
 * @aux: the auxiliary device, NULL if there is none
 * @netdev_lock: guards @netdev and @wanted, also against the notifier
 * @netdev: the child's interface while it is registered
 * @wanted: the child is up and offers RoCE
 * @start_work: starts the auxiliary device
 * @stop_work: stops it
 * @event_lock: guards @event and @event_aux
 * @event: callback of the RDMA driver for changes of the state
 * @event_aux: argument of @event
 * @renew: what becomes of virtio_net's rings; guarded by the RTNL lock
 * @config: configuration space of the child when it was last started
 * @netdev_nb: notices when @netdev is registered or unregistered
 */
struct vnr_dev {
	struct virtio_pci_modern_device mdev;
	struct vnr_offer offer;
	struct vnr_child *child;
	struct vnr_life life;
	struct vnr_ctrl ctrl;

	bool roce;
	bool has_ctrl;
	bool event_idx;
	struct virtqueue **vqs;
	unsigned int nvqs;
	struct vnr_rdma_queue *queues;
	unsigned int nqueues;
	struct xarray doorbell_pages;
	struct vnr_vector *vectors;
	bool vectors_roce;
	unsigned int nvectors;
	unsigned int cq_step;
	unsigned int event_step;
	struct vnr_event_queue *events;
	unsigned int nevents;
	struct work_struct events_work;
	void (*notify)(struct virtio_net_roce_aux *aux, u16 type, u32 number);
	struct virtio_net_roce_aux *notify_aux;

	struct vnr_cq *cqs;
	unsigned long *armed;
	u32 config_generation;
	struct delayed_work config_work;

	struct mutex aux_lock; /* aux */
	struct virtio_net_roce_aux *aux;
	spinlock_t netdev_lock; /* netdev, wanted */
	struct net_device *netdev;
	bool wanted;
	struct work_struct start_work;
	struct work_struct stop_work;
	struct mutex event_lock; /* event, event_aux */
	void (*event)(struct virtio_net_roce_aux *aux,
		      enum virtio_net_roce_event event);
	struct virtio_net_roce_aux *event_aux;
	enum vnr_renew renew;
	u8 config[VIRTIO_NET_ROCE_CONFIG_OFFSET];
	struct notifier_block netdev_nb;
};

static inline struct device *vnr_device(struct vnr_dev *dev)
{
	return &dev->mdev.pci_dev->dev;
}

static inline struct vnr_dev *vnr_from_vdev(struct virtio_device *vdev)
{
	return container_of(vdev, struct vnr_child, vdev)->dev;
}

#endif /* _VNR_H */
