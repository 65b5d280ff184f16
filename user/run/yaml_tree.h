/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where in a YAML text does a value stand? libcyaml turns the text into structures and forgets its lines; an
 * error that is found afterwards has to name one.
 */
#ifndef KPHI_RUN_YAML_TREE_H
#define KPHI_RUN_YAML_TREE_H

#include <stddef.h>
#include <stdint.h>

#define YAML_DEPTH 8

/* From the top of the document to a value: keys of mappings, and indices of sequences where `key` is NULL. */
struct yaml_path {
	struct {
		const char *key;
		unsigned int index;
	} step[YAML_DEPTH];
	unsigned int depth;
};

/* The path one step further down. Steps beyond YAML_DEPTH are left out. */
struct yaml_path yaml_key(struct yaml_path path, const char *key);
struct yaml_path yaml_index(struct yaml_path path, unsigned int index);

struct yaml_tree;

/*
 * 0, or -EINVAL if the text is no YAML or holds more than one document: then the line and a reason are given.
 * -ENOMEM. The text must outlive the tree.
 */
int yaml_tree_new(struct yaml_tree **tree, const char *text, size_t size, unsigned int *line, char *why,
		  size_t why_size);
void yaml_tree_free(struct yaml_tree *tree);

/*
 * The line, counted from 1, of the key or the element that the path ends with, or of the last one on the way
 * that exists. Of a key given twice, the second.
 */
unsigned int yaml_tree_line(struct yaml_tree *tree, const struct yaml_path *path);

#endif
