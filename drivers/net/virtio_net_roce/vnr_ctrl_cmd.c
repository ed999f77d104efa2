// SPDX-License-Identifier: GPL-2.0
/*
 * A command on the control queue: a heap object that owns every byte that the device may
 * touch.
 *
 * Each part (header, request, ack, response) has its own descriptor and buffer, aligned as by
 * kmalloc().  The standard lets a driver merge and split them freely.  But a device may
 * expect one descriptor for each structure of the RFC, and may not accept a long chain.
 */
#include <linux/slab.h>

#include "vnr_ctrl.h"

/*
 * A buffer for one part.  Small buffers have their own cache lines, because the device
 * may use several at a time.
 */
static void *vnr_ctrl_buf_alloc(size_t len, gfp_t gfp)
{
	if (len > PAGE_SIZE)
		return alloc_pages_exact(len, gfp | __GFP_ZERO);
	len = max_t(size_t, len, SMP_CACHE_BYTES);
	return kzalloc(roundup_pow_of_two(len), gfp);
}

static void vnr_ctrl_buf_free(void *buf, size_t len)
{
	if (len > PAGE_SIZE)
		free_pages_exact(buf, len);
	else
		kfree(buf);
}

static void vnr_ctrl_cmd_release(struct kref *ref)
{
	struct vnr_ctrl_cmd *cmd = container_of(ref, struct vnr_ctrl_cmd, ref);
	unsigned int i;

	for (i = 0; i < cmd->nout + cmd->nin; i++)
		vnr_ctrl_buf_free(sg_virt(&cmd->sg[i]), cmd->sg[i].length);
	kfree(cmd);
}

/**
 * vnr_ctrl_cmd_put() - drop a reference of a command
 * @cmd: command
 *
 * Context: any.
 */
void vnr_ctrl_cmd_put(struct vnr_ctrl_cmd *cmd)
{
	kref_put(&cmd->ref, vnr_ctrl_cmd_release);
}

/**
 * vnr_ctrl_cmd_alloc() - allocate a command without parts
 * @ctrl: control queue
 * @max: number of parts that it has room for
 * @finish: called once with the queue's answer, in any context
 * @gfp: how to allocate
 *
 * Return: the command with one reference, or NULL.
 */
struct vnr_ctrl_cmd *
vnr_ctrl_cmd_alloc(struct vnr_ctrl *ctrl, unsigned int max,
		   void (*finish)(struct vnr_ctrl_cmd *cmd), gfp_t gfp)
{
	struct vnr_ctrl_cmd *cmd = kzalloc(struct_size(cmd, sg, max), gfp);

	if (!cmd)
		return NULL;
	kref_init(&cmd->ref);
	init_completion(&cmd->done);
	INIT_LIST_HEAD(&cmd->node);
	INIT_LIST_HEAD(&cmd->link);
	INIT_LIST_HEAD(&cmd->entry);
	cmd->ctrl = ctrl;
	cmd->finish = finish;
	cmd->max = max;
	sg_init_table(cmd->sg, max);
	return cmd;
}

/**
 * vnr_ctrl_cmd_add() - add a part, zeroed
 * @cmd: command
 * @in: the device writes it; such parts must follow all parts that the device reads
 * @len: its bytes, not 0
 * @gfp: how to allocate
 *
 * Return: its buffer, which the command owns, or NULL.
 */
void *vnr_ctrl_cmd_add(struct vnr_ctrl_cmd *cmd, bool in, size_t len,
		       gfp_t gfp)
{
	unsigned int n = cmd->nout + cmd->nin;
	void *buf;

	if (n == cmd->max)
		return NULL;
	buf = vnr_ctrl_buf_alloc(len, gfp);
	if (!buf)
		return NULL;
	sg_set_buf(&cmd->sg[n], buf, len);
	if (in)
		cmd->nin++;
	else
		cmd->nout++;
	return buf;
}

/**
 * vnr_ctrl_cmd_ack() - the part of a command that the device acknowledges it in
 * @cmd: command with all its parts
 *
 * Return: its buffer.
 */
u8 *vnr_ctrl_cmd_ack(struct vnr_ctrl_cmd *cmd)
{
	return sg_virt(&cmd->sg[cmd->nout]);
}
