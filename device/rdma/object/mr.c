// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions.
 *
 * A region keeps its pages as extents: runs of pages that are adjacent for the guest,
 * so that a huge page or a lucky allocation is one of them, whatever size the pages of the
 * guest's list have.  The extent of an address is found by a binary search, and not even
 * that while one walks on.
 *
 * Extents are device addresses, and are looked up in the memory map when they are
 * used, so that a change of the map costs nothing, however many there are: a guest can
 * have its front-end change the map at any time.  Pages that are gone are found at the
 * access.
 *
 * A region of mr_alloc() has room for the extents of all its pages from the
 * beginning, so that a registration by work request needs no memory, and counts
 * as that many.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "rdma/object/mr.h"
#include "virtio/virtq.h"

_Static_assert(VIRTIO_RDMA_KEY_TAG_BITS == OBJ_TAG_BITS,
	       "keys of memory regions are not handles");

static const char mr_no_memory[] = "out of memory";
static const char mr_no_pd[] = "unknown protection domain";

/* Pieces of memory in the pages that are looked at before others get their turn. */
#define MR_PIECES	2048

/**
 * struct mr_reg - a registration under way
 * @mr:		what becomes of it, without its extents
 * @old:	region that becomes this, or NULL: a new one does
 * @pdn:	protection domain
 * @next:	pages of the guest's list that have come
 * @npages:	pages that it has
 * @indirect:	it is not in the request
 * @paging:	how those that are to come are taken
 * @list:	those that have come
 */
struct mr_reg {
	struct mr mr;
	struct mr *old;
	uint32_t pdn;
	uint32_t next;
	uint32_t npages;
	bool indirect;
	struct paging paging;
	struct extents list;
};

int mr_table_init(struct mr_table *mrs, struct rnic_ctx *ctx,
		  struct pd_table *pds)
{
	mrs->ctx = ctx;
	mrs->pds = pds;
	mrs->stamp = 1;
	return obj_table_init(&mrs->objs, ctx->limits.mrs);
}

void mr_table_fini(struct mr_table *mrs)
{
	obj_table_fini(&mrs->objs);
}

const char *mr_access_check(const struct rnic_ctx *ctx, uint32_t access, bool of_user)
{
	if (of_user && !ctx->limits.rfc)
		access &= ~(VIRTIO_IB_ACCESS_ZERO_BASED | VIRTIO_IB_ACCESS_MW_BIND);
	if (access & ~rnic_access_flags(ctx))
		return "unknown access flags";
	/* The device cannot know which memory of the guest is persistent. */
	if (access & VIRTIO_IB_ACCESS_FLUSH_PERSISTENT)
		return "memory is not persistent";
	if (access & (VIRTIO_IB_ACCESS_REMOTE_WRITE | VIRTIO_IB_ACCESS_REMOTE_ATOMIC) &&
	    !(access & VIRTIO_IB_ACCESS_LOCAL_WRITE))
		return "remote write or atomic access without local write access";
	return NULL;
}

/* Extents that all regions together may have. */
static uint32_t mr_extents_max(const struct mr_table *mrs)
{
	const struct guest_mem *mem = mrs->ctx->mem;
	uint64_t pages = 0;
	unsigned int i;

	for (i = 0; i < mem->n; i++)
		pages += mem->region[i].size / RNIC_PAGE_SIZE;
	if (pages > RNIC_MR_EXTENTS_MOST)
		return RNIC_MR_EXTENTS_MOST;
	return pages > RNIC_MR_EXTENTS_LEAST ? pages : RNIC_MR_EXTENTS_LEAST;
}

uint32_t mr_cost(const struct mr *mr)
{
	return mr->max_pages ? mr->max_pages : mr->n;
}

/* The checks that need no look at the pages; mr_enter() may still fail. */
static const char *mr_check_room(const struct mr_table *mrs, uint32_t pdn,
				 bool one_more, uint32_t cost)
{
	if (!pd_get(mrs->pds, pdn))
		return mr_no_pd;
	if (one_more && mrs->objs.used == mrs->objs.max)
		return rnic_why(mrs->ctx,
				"all %u memory regions are in use (--mrs)",
				mrs->ctx->limits.mrs);
	if ((uint64_t)mrs->extents + cost > mr_extents_max(mrs))
		return EXTENTS_NO_ROOM;
	return NULL;
}

/* Takes over the extents of @tmpl if it succeeds. */
static const char *mr_enter(struct mr_table *mrs, uint32_t pdn,
			    const struct mr *tmpl, uint32_t *key)
{
	const char *why = mr_check_room(mrs, pdn, true, mr_cost(tmpl));
	struct mr *mr;

	if (why)
		return why;
	mr = malloc(sizeof(*mr));
	if (!mr)
		return mr_no_memory;
	*mr = *tmpl;
	if (obj_add(&mrs->objs, mr, &mr->key)) {
		free(mr);
		return "no free memory region";
	}
	mr->pd = pd_get(mrs->pds, pdn);
	mr->pd->refs++;
	mr->binding = ++mrs->binding;
	mrs->extents += mr_cost(mr);
	*key = mr->key;
	return NULL;
}

const char *mr_get_dma(struct mr_table *mrs, uint32_t pdn, uint32_t access,
		       uint32_t *key)
{
	const struct mr tmpl = {
		.access = access,
		.dma = true,
		.length = UINT64_MAX,
	};
	const char *why = mr_access_check(mrs->ctx, access, false);

	return why ? why : mr_enter(mrs, pdn, &tmpl, key);
}

/*
 * Check that the numbers of a request are consistent, before looking at any page, and
 * see how the pages cover the region.  @addr need not be that of @mr.
 */
static const char *mr_check(const struct mr_table *mrs, const struct mr *mr,
			    uint64_t addr, uint32_t npages, struct paging *paging)
{
	const uint64_t size = 1ull << paging->shift, off = addr & (size - 1);

	if (!mr->length)
		return "memory region without a byte";
	if (mr->length > rnic_mr_size_max(mrs->ctx))
		return "memory region too long";
	if (mr->addr > UINT64_MAX - mr->length)
		return "memory region beyond the address space";
	if (npages != (off + mr->length + size - 1) >> paging->shift)
		return "number of pages does not cover the memory region";
	paging->skip = off / RNIC_PAGE_SIZE;
	paging->left = (mr->first + mr->length + RNIC_PAGE_SIZE - 1) / RNIC_PAGE_SIZE;
	return NULL;
}

/**
 * struct mr_form - how a request names pages
 * @page_shift:	as in &struct virtio_rdma_cmd_reg_user_mr, like the following
 * @levels:	where the list is
 * @old:	region that gets the pages, or NULL
 */
struct mr_form {
	uint8_t page_shift;
	uint8_t levels;
	struct mr *old;
};

static const char *mr_reg_start(struct mr_table *mrs,
				const struct virtio_rdma_cmd_reg_user_mr *req,
				const struct mr_form *form, size_t room)
{
	uint64_t addr = le64toh(req->virt_addr), entries;
	struct mr_reg reg = {
		.mr = {
			.access = le32toh(req->access_flags),
			.addr = addr,
			.first = addr % RNIC_PAGE_SIZE,
			.length = le64toh(req->length),
		},
		.old = form->old,
		.pdn = le32toh(req->pdn),
		.npages = le32toh(req->npages),
		.indirect = form->levels,
		.paging.shift = form->page_shift ? form->page_shift :
						   VIRTIO_RDMA_MR_PAGE_SHIFT,
	};
	const char *why;

	if (reg.paging.shift > 63 || !(RNIC_MR_PAGE_SIZES >> reg.paging.shift & 1))
		return "no such size of pages";
	if (form->levels > 1)
		return "no such form of a page list";
	if (reg.mr.access & VIRTIO_IB_ACCESS_ZERO_BASED)
		reg.mr.addr = 0;
	why = mr_check(mrs, &reg.mr, addr, reg.npages, &reg.paging);
	if (!why)
		why = mr_access_check(mrs->ctx, reg.mr.access, true);
	if (why)
		return why;
	if (reg.npages > RNIC_MR_LIST_MAX)
		return "page list too long";
	entries = reg.indirect ? (reg.npages + VIRTIO_RDMA_MR_LIST_PAGE - 1) /
				 VIRTIO_RDMA_MR_LIST_PAGE : reg.npages;
	if (room != entries * sizeof(__le64))
		return "request is not as long as its page list";
	why = mr_check_room(mrs, reg.pdn, !form->old, 1);
	if (why)
		return why;
	reg.list.limit = mr_extents_max(mrs) - mrs->extents;
	mrs->reg = malloc(sizeof(*mrs->reg));
	if (!mrs->reg)
		return mr_no_memory;
	*mrs->reg = reg;
	return NULL;
}

const char *mr_reg_begin(struct mr_table *mrs,
			 const struct virtio_rdma_cmd_reg_user_mr *req, size_t room)
{
	struct mr_form form = {};

	if (!mrs->ctx->limits.rfc) {
		form.page_shift = req->page_shift;
		form.levels = req->levels;
	}
	return mr_reg_start(mrs, req, &form, room);
}

static void mr_unbind_all(struct mr_table *mrs, struct mr *mr)
{
	mr->binding = ++mrs->binding;
	mr->windows = 0;
}

struct mr *mr_of(const struct mr_table *mrs, const struct mr *window)
{
	struct mr *mr = window->bound ? obj_at(&mrs->objs, window->of) : NULL;

	return mr && mr->binding == window->bound ? mr : NULL;
}

static void mr_unbind(struct mr_table *mrs, struct mr *window)
{
	struct mr *mr = mr_of(mrs, window);

	if (mr)
		mr->windows--;
	window->invalid = true;
	window->bound = 0;
}

/* Is a region or a window not to be used now? */
static bool mr_is_invalid(const struct mr_table *mrs, const struct mr *mr)
{
	return mr->invalid || (mr->window && !mr_of(mrs, mr));
}

static void mr_set_pd(struct mr *mr, struct pd *pd)
{
	mr->pd->refs--;
	mr->pd = pd;
	mr->pd->refs++;
}

static void mr_free_extents(struct mr_table *mrs, struct mr *mr)
{
	rnic_give_back(mrs->ctx, mr->extent, mr_cost(mr) * sizeof(*mr->extent));
}

/* Change a region that keeps its pages. */
static const char *mr_set_rights(struct mr_table *mrs, struct mr *mr, uint32_t pdn,
				 uint32_t access)
{
	const char *why = mr_access_check(mrs->ctx, access, true);

	if (why)
		return why;
	if ((access ^ mr->access) & VIRTIO_IB_ACCESS_ZERO_BASED)
		return "another address of the first byte, without pages";
	if (!pd_get(mrs->pds, pdn))
		return mr_no_pd;
	mrs->stamp++;
	mr_unbind_all(mrs, mr);
	mr_set_pd(mr, pd_get(mrs->pds, pdn));
	mr->access = access;
	return NULL;
}

static const char *mr_rereg_start(struct mr_table *mrs,
				  const struct virtio_rdma_cmd_rereg_mr *req,
				  struct mr_form *form, size_t room)
{
	struct mr *mr = obj_at(&mrs->objs, le32toh(req->mrn));
	const struct virtio_rdma_cmd_reg_user_mr reg = {
		.pdn = req->pdn,
		.access_flags = req->access_flags,
		.virt_addr = req->virt_addr,
		.length = req->length,
		.npages = req->npages,
	};

	if (!mr || mr->dma || mr->max_pages || mr->window)
		return "no memory region of REG_USER_MR";
	form->old = mr;
	if (req->npages)
		return mr_reg_start(mrs, &reg, form, room);
	if (room)
		return "request is not as long as its page list";
	return mr_set_rights(mrs, mr, le32toh(req->pdn), le32toh(req->access_flags));
}

const char *mr_rereg_begin(struct mr_table *mrs,
			   const struct virtio_rdma_cmd_rereg_mr *req, size_t room)
{
	struct mr_form form = {};

	return mr_rereg_start(mrs, req, &form, room);
}

const char *mr_rereg_long_begin(struct mr_table *mrs,
				const struct virtio_rdma_cmd_rereg_mr_long *req,
				size_t room)
{
	const struct virtio_rdma_cmd_rereg_mr rereg = {
		.pdn = req->pdn,
		.access_flags = req->access_flags,
		.virt_addr = req->virt_addr,
		.length = req->length,
		.npages = req->npages,
		.mrn = req->mrn,
	};
	struct mr_form form = {
		.page_shift = req->page_shift,
		.levels = req->levels,
	};

	return mr_rereg_start(mrs, &rereg, &form, room);
}

struct mr_list mr_reg_list(const struct mr_table *mrs)
{
	const struct mr_reg *reg = mrs->reg;

	if (!reg)
		return (struct mr_list) {};
	return (struct mr_list) {
		.next = reg->next,
		.left = reg->npages - reg->next,
		.indirect = reg->indirect,
	};
}

void mr_reg_abort(struct mr_table *mrs)
{
	if (mrs->reg)
		extents_free(&mrs->reg->list, mrs->ctx);
	free(mrs->reg);
	mrs->reg = NULL;
}

const char *mr_reg_pages(struct mr_table *mrs, const __le64 *pages, uint32_t n)
{
	struct mr_reg *reg = mrs->reg;
	const char *why = NULL;
	uint32_t i, pieces = 0;

	for (i = 0; !why && i < n && pieces < MR_PIECES; i++)
		why = extents_add_page(&reg->list, mrs->ctx->mem, le64toh(pages[i]),
				       &reg->paging, &pieces);
	reg->next += i;
	if (why)
		mr_reg_abort(mrs);
	return why;
}

/* Takes over the extents of @tmpl if it succeeds. */
static const char *mr_become(struct mr_table *mrs, struct mr *mr, uint32_t pdn,
			     const struct mr *tmpl, uint32_t *key)
{
	const char *why = mr_check_room(mrs, pdn, false, tmpl->n);

	if (why)
		return why;
	mrs->stamp++;
	mr_unbind_all(mrs, mr);
	mr_set_pd(mr, pd_get(mrs->pds, pdn));
	mrs->extents += tmpl->n - mr->n;
	mr_free_extents(mrs, mr);
	mr->access = tmpl->access;
	mr->addr = tmpl->addr;
	mr->first = tmpl->first;
	mr->length = tmpl->length;
	mr->n = tmpl->n;
	mr->extent = tmpl->extent;
	*key = mr->key;
	return NULL;
}

const char *mr_reg_end(struct mr_table *mrs, uint32_t *key)
{
	struct mr_reg *reg = mrs->reg;
	const char *why;

	extents_trim(&reg->list);
	reg->mr.n = reg->list.n;
	reg->mr.extent = reg->list.extent;
	why = reg->old ? mr_become(mrs, reg->old, reg->pdn, &reg->mr, key) :
			 mr_enter(mrs, reg->pdn, &reg->mr, key);
	if (!why)
		reg->list.extent = NULL;
	mr_reg_abort(mrs);
	return why;
}

const char *mr_alloc(struct mr_table *mrs, uint32_t pdn, uint32_t max_pages,
		     uint32_t *key)
{
	struct mr tmpl = {
		.invalid = true,
		.max_pages = max_pages,
	};
	const char *why;

	if (!max_pages || max_pages > RNIC_FAST_REG_PAGES)
		return "number of pages out of range";
	tmpl.extent = calloc(max_pages, sizeof(*tmpl.extent));
	if (!tmpl.extent)
		return mr_no_memory;
	why = mr_enter(mrs, pdn, &tmpl, key);
	if (why)
		free(tmpl.extent);
	return why;
}

/* The region that a key of any tag belongs to, if requests may change it. */
static struct mr *mr_get_fast(const struct mr_table *mrs, const struct pd *pd,
			      uint32_t key)
{
	struct mr *mr = obj_at(&mrs->objs, obj_index(key));

	return mr && mr->max_pages && mr->pd == pd ? mr : NULL;
}

const char *mr_alloc_window(struct mr_table *mrs, uint32_t pdn, uint32_t type,
			    uint32_t *key)
{
	const struct mr tmpl = {
		.invalid = true,
		.window = type,
	};

	if (type != VIRTIO_IB_MW_TYPE_1 && type != VIRTIO_IB_MW_TYPE_2)
		return "unknown type of memory window";
	return mr_enter(mrs, pdn, &tmpl, key);
}

/* Rights of a window; its region must grant those that are not its own affair. */
#define WINDOW_ACCESS	(VIRTIO_IB_ACCESS_LOCAL_WRITE | VIRTIO_IB_ACCESS_REMOTE_WRITE | \
			 VIRTIO_IB_ACCESS_REMOTE_READ | VIRTIO_IB_ACCESS_REMOTE_ATOMIC | \
			 VIRTIO_IB_ACCESS_ZERO_BASED)
#define WINDOW_WRITE	(VIRTIO_IB_ACCESS_REMOTE_WRITE | VIRTIO_IB_ACCESS_REMOTE_ATOMIC)

/* The region that a window can be bound to. */
static const char *mr_bind_check(const struct mr_table *mrs, const struct pd *pd,
				 const struct mr_bind *bind, struct mr **of)
{
	struct mr *mr = obj_get(&mrs->objs, bind->mr_key);

	if (!mr || mr->pd != pd || mr->window || mr->invalid)
		return "no such memory region";
	if (!(mr->access & VIRTIO_IB_ACCESS_MW_BIND))
		return "no right to bind windows to the memory region";
	if (bind->access & ~WINDOW_ACCESS)
		return "unknown access flags";
	if (bind->access & WINDOW_WRITE && !(mr->access & VIRTIO_IB_ACCESS_LOCAL_WRITE))
		return "a window to write to a region that is to be read";
	if (bind->addr < mr->addr || bind->length > mr->length ||
	    bind->addr - mr->addr > mr->length - bind->length)
		return "a window beyond the memory region";
	*of = mr;
	return NULL;
}

const char *mr_bind(struct mr_table *mrs, const struct pd *pd, uint64_t user,
		    const struct mr_bind *bind)
{
	struct mr *window = obj_at(&mrs->objs, obj_index(bind->key)), *of = NULL;
	const char *why;

	if (!window || !window->window || window->pd != pd)
		return "no such memory window";
	if (window->window == VIRTIO_IB_MW_TYPE_2 &&
	    (!mr_is_invalid(mrs, window) || !bind->length))
		return "memory window is bound";
	if (bind->length) {
		why = mr_bind_check(mrs, pd, bind, &of);
		if (why)
			return why;
	}
	mrs->stamp++;
	mr_unbind(mrs, window);
	window->key = bind->key;
	obj_retag(&mrs->objs, window->key);
	if (!of)
		return NULL;
	window->invalid = false;
	window->user = user;
	window->access = bind->access & ~VIRTIO_IB_ACCESS_LOCAL_WRITE;
	window->base = bind->addr;
	window->addr = bind->access & VIRTIO_IB_ACCESS_ZERO_BASED ? 0 : bind->addr;
	window->length = bind->length;
	window->of = obj_index(of->key);
	window->bound = of->binding;
	of->windows++;
	return NULL;
}

bool mr_is_window(const struct mr_table *mrs, uint32_t key)
{
	const struct mr *mr = obj_get(&mrs->objs, key);

	return mr && mr->window;
}

/* The window of type 2 that a QP may make invalid. */
static struct mr *mr_get_window(const struct mr_table *mrs, const struct pd *pd,
				uint64_t user, uint32_t key)
{
	struct mr *mr = obj_get(&mrs->objs, key);

	return mr && mr->window == VIRTIO_IB_MW_TYPE_2 && mr->pd == pd &&
	       mr->user == user ? mr : NULL;
}

/* Copy a page list; what lies behind a page's end may be elsewhere. */
static bool mr_read_pages(const struct mr_table *mrs, const struct mr_fast *fast,
			  __le64 *pages)
{
	size_t len = fast->npages * sizeof(*pages);
	struct iovec iov[GUEST_MEM_REGIONS_MAX];
	int n = guest_mem_iov(mrs->ctx->mem, fast->pages, len, iov,
			      GUEST_MEM_REGIONS_MAX);

	if (n < 0)
		return false;
	iov_to_buf(iov, n, 0, pages, len);
	return true;
}

const char *mr_fast_reg(struct mr_table *mrs, const struct pd *pd,
			const struct mr_fast *fast)
{
	struct mr *mr = mr_get_fast(mrs, pd, fast->key);
	struct mr new = {
		.access = fast->access,
		.addr = fast->addr,
		.first = fast->addr % RNIC_PAGE_SIZE,
		.length = fast->length,
	};
	struct paging paging = { .shift = VIRTIO_RDMA_MR_PAGE_SHIFT };
	__le64 pages[RNIC_FAST_REG_PAGES];
	struct extents list = {};
	uint32_t i, pieces = 0;
	const char *why;

	if (!mr)
		return "no memory region for registration by request";
	if (!mr->invalid)
		return "memory region is valid";
	if (fast->npages > mr->max_pages)
		return "more pages than the memory region takes";
	why = mr_check(mrs, &new, fast->addr, fast->npages, &paging);
	if (!why)
		why = mr_access_check(mrs->ctx, new.access, false);
	if (why)
		return why;
	if (!mr_read_pages(mrs, fast, pages))
		return "page list outside of guest memory";

	mrs->stamp++;
	/* There is room for all of them, so that the list does not move. */
	list.extent = mr->extent;
	list.max = mr->max_pages;
	list.limit = mr->max_pages;
	for (i = 0; !why && i < fast->npages; i++)
		why = extents_add_page(&list, mrs->ctx->mem, le64toh(pages[i]),
				       &paging, &pieces);
	if (why)
		return why;

	mr->n = list.n;
	mr->access = new.access;
	mr->addr = new.addr;
	mr->first = new.first;
	mr->length = new.length;
	mr->key = fast->key;
	mr->invalid = false;
	obj_retag(&mrs->objs, mr->key);
	return NULL;
}

bool mr_invalidate(struct mr_table *mrs, const struct pd *pd, uint64_t user,
		   uint32_t key)
{
	struct mr *mr = mr_get_window(mrs, pd, user, key);

	mrs->stamp++;
	if (mr) {
		mr_unbind(mrs, mr);
		return true;
	}
	mr = mr_get_fast(mrs, pd, key);
	if (!mr || mr->key != key)
		return false;
	mr->invalid = true;
	mr->n = 0;
	return true;
}

static void mr_free(struct mr_table *mrs, struct mr *mr)
{
	mrs->stamp++;
	mr_unbind(mrs, mr);
	mrs->extents -= mr_cost(mr);
	mr->pd->refs--;
	obj_del(&mrs->objs, mr->key);
	mr_free_extents(mrs, mr);
	free(mr);
}

const char *mr_dereg(struct mr_table *mrs, uint32_t mrn)
{
	struct mr *mr = obj_at(&mrs->objs, mrn);

	if (!mr)
		return "unknown memory region";
	if (mr->windows)
		return "memory windows are bound to the region";
	mr_free(mrs, mr);
	return NULL;
}

bool mr_table_reset(struct mr_table *mrs, struct portion *portion)
{
	struct mr *mr;

	while (mrs->objs.used && portion_next(portion, mrs->objs.max)) {
		mr = obj_at(&mrs->objs, portion->at++);
		if (!mr)
			continue;
		mr_free(mrs, mr);
		portion->left -= PORTION_OBJECT;
	}
	mrs->gaps = false;
	mrs->unchecked = false;
	return !mrs->objs.used;
}

static bool mem_covers(const struct guest_mem *mem, uint64_t addr, uint64_t len)
{
	uint64_t run;
	uint8_t *p;

	while (len) {
		run = guest_mem_contig(mem, addr, len, &p);
		if (!p)
			return false;
		addr += run;
		len -= run;
	}
	return true;
}

/* Is all of @other in @mem? */
static bool mem_includes(const struct guest_mem *mem, const struct guest_mem *other)
{
	unsigned int i;

	for (i = 0; i < other->n; i++)
		if (!mem_covers(mem, other->region[i].addr, other->region[i].size))
			return false;
	return true;
}

void mr_find_gaps(struct mr_table *mrs)
{
	const struct mr *mr;
	uint32_t at = 0;

	if (!mrs->unchecked)
		return;
	mrs->unchecked = false;
	while (!mrs->gaps && (mr = obj_next(&mrs->objs, &at)))
		mrs->gaps = !mr->window && mr->n &&
			    !mr_covers(mrs, mr, mr->addr, mr->length);
}

/*
 * With all of the memory gone the guest stands still, and mr_get_whole() finds
 * nothing.  As a rule the same memory comes back, or more is plugged in.  Then all pages
 * of all regions are there, and accesses need not ask for theirs.
 */
void mr_mem_changed(struct mr_table *mrs)
{
	const struct guest_mem *mem = mrs->ctx->mem;

	mrs->stamp++;
	if (!mem->n)
		return;
	if (mrs->objs.used && !mrs->gaps && !mem_includes(mem, &mrs->map)) {
		mrs->gaps = true;
		rnic_warn(mrs->ctx, "some memory is gone: accesses to regions there fail");
	}
	mrs->map = *mem;
	mr_find_gaps(mrs);
}

size_t mr_contig(const struct mr_table *mrs, const struct mr *mr, uint64_t addr,
		 size_t len, uint32_t *hint, uint8_t **p)
{
	const struct mr_extent *extent;
	uint64_t off, size;

	if (mr->dma)
		return guest_mem_contig(mrs->ctx->mem, addr, len, p);
	if (mr->window) {
		addr = addr - mr->addr + mr->base;
		mr = mr_of(mrs, mr);
	}

	/* Offset from the beginning of the first page. */
	off = addr - mr->addr + mr->first;
	*hint = extents_find(mr->extent, mr->n, off / RNIC_PAGE_SIZE, *hint);
	extent = &mr->extent[*hint];
	off -= (uint64_t)extent->page * RNIC_PAGE_SIZE;
	size = (uint64_t)extent->npages * RNIC_PAGE_SIZE - off;
	return guest_mem_contig(mrs->ctx->mem, extent->addr + off, len < size ? len : size,
				p);
}

bool mr_covers(const struct mr_table *mrs, const struct mr *mr, uint64_t addr,
	       uint64_t len)
{
	uint32_t hint = 0;
	uint64_t part;
	uint8_t *p;

	while (len) {
		virtq_charge(1);
		part = mr_contig(mrs, mr, addr, len, &hint, &p);
		if (!p)
			return false;
		addr += part;
		len -= part;
	}
	return true;
}

/* Rights that only peers use.  Of a window they are all that there is. */
#define REMOTE_ACCESS	(VIRTIO_IB_ACCESS_REMOTE_WRITE | VIRTIO_IB_ACCESS_REMOTE_READ | \
			 VIRTIO_IB_ACCESS_REMOTE_ATOMIC)

static bool window_is_ok(const struct mr *window, uint64_t user, uint32_t access)
{
	return access & REMOTE_ACCESS &&
	       (window->window == VIRTIO_IB_MW_TYPE_1 || window->user == user);
}

const struct mr *mr_get_whole(const struct mr_table *mrs, const struct pd *pd,
			      uint64_t user, uint32_t key, uint32_t access)
{
	const struct mr *mr = obj_get(&mrs->objs, key);

	if (!mr || mr->pd != pd || mr_is_invalid(mrs, mr) || !mrs->ctx->mem->n ||
	    (mr->access & access) != access)
		return NULL;
	if (mr->window && !window_is_ok(mr, user, access))
		return NULL;
	return mr;
}

const struct mr *mr_get_remote(const struct mr_table *mrs, const struct pd *pd,
			       uint64_t user, uint32_t key, uint64_t addr,
			       uint64_t len, uint32_t access)
{
	const struct mr *mr = mr_get_whole(mrs, pd, user, key, access);

	if (!mr)
		return NULL;
	if (addr < mr->addr || len > mr->length ||
	    addr - mr->addr > mr->length - len)
		return NULL;
	if (mr->dma && !mem_covers(mrs->ctx->mem, addr, len))
		return NULL;
	if (mrs->gaps && len <= RNIC_SLICE_ALONE && !mr_covers(mrs, mr, addr, len))
		return NULL;
	return mr;
}

const struct mr *mr_get(const struct mr_table *mrs, const struct pd *pd,
			uint32_t key, uint64_t addr, uint64_t len,
			uint32_t access)
{
	return mr_get_remote(mrs, pd, 0, key, addr, len, access);
}

uint8_t *mr_find(const struct mr_table *mrs, struct mr_place *place, const struct pd *pd,
		 uint64_t user, uint32_t key, uint64_t addr, uint64_t len,
		 uint32_t access)
{
	const struct mr *mr = mr_get_remote(mrs, pd, user, key, addr, len, access);
	uint32_t hint = 0;
	uint64_t run;
	uint8_t *p;

	if (!mr || mrs->gaps)
		return NULL;
	run = mr_contig(mrs, mr, addr, mr->length - (addr - mr->addr), &hint, &p);
	if (!p || run < len)
		return NULL;
	*place = (struct mr_place) {
		.stamp = mrs->stamp,
		.pd = pd,
		.access = access,
		.key = key,
		.addr = addr,
		.length = run,
		.host = p,
	};
	return p;
}
